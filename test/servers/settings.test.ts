import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SettingsChange } from '../../src/domain/settings.ts';
import type { Server } from '../../src/servers/server.ts';
import { connectTo } from './support/connect.ts';
import { failure } from './support/failure.ts';
import { NOT_FOUND, startFake, type FakeServer } from './support/fake-server.ts';
import { recordings } from './support/recordings.ts';

const newer = recordings('1.11.0');
const older = recordings('1.6.0');
let fake: FakeServer;
let server: Server;
let notices: string[];
let logged: string[];
let stored: Record<string, unknown> | null;

/** A server of that release that keeps the posted settings as `stored` and returns them. */
async function serve(release: '1.11.0' | '1.6.0'): Promise<void> {
  const path = release === '1.11.0' ? '/api/v1/settings' : '/api/settings';
  const recorded = release === '1.11.0' ? newer : older;
  fake.handler = (asked) => {
    if (asked.path === '/openapi.json') return recorded.reply('probe.openapi');
    if (asked.path === '/api/v1/app-conversations/count') return { json: 0 };
    if (asked.path === path && asked.method === 'GET')
      return stored === null ? { status: 404, json: { error: 'Settings not found' } } : { json: stored };
    if (asked.method === 'POST' || asked.method === 'DELETE') return { json: { message: 'Settings stored' } };
    return NOT_FOUND;
  };
  notices = [];
  logged = [];
  server = await connectTo(fake.url, { notice: (text) => notices.push(text), log: (line) => logged.push(line) });
  fake.asked.length = 0;
}

beforeEach(async () => {
  fake = await startFake(() => NOT_FOUND);
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

const change = (members: Partial<SettingsChange>): SettingsChange => ({
  set: {},
  unset: [],
  allow_loss: 'refuse',
  ...members,
});
const posted = (path: string): unknown =>
  fake.asked.find((asked) => asked.method === 'POST' && asked.path === path)?.body;

describe('settings of V0', () => {
  beforeEach(async () => {
    stored = older.body('v0.settings.get') as Record<string, unknown>;
    await serve('1.6.0');
  });

  it('are read with the state of each secret, keys of MCP servers included', async () => {
    const { stored: there, values, secrets } = await server.settings.read();
    expect(there).toBe(true);
    expect(values).toMatchObject({ max_iterations: 44, language: 'de', git_user_name: 'Ann' });
    expect(values['mcp_config']).toMatchObject({
      sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: '<redacted>' }],
    });
    expect(secrets).toEqual({
      llm_api_key: 'set',
      search_api_key: 'set',
      sandbox_api_key: 'unknown',
      secrets_store: 'unset',
    });
    expect(Object.keys(values).length + Object.keys(secrets).length).toBe(25);
  });

  it('are written as a whole: members that are not changed keep their values', async () => {
    await server.settings.write(change({ set: { max_iterations: 7 } }));
    const {
      secrets_store,
      provider_tokens_set,
      llm_api_key_set,
      search_api_key_set,
      llm_api_key,
      search_api_key,
      sandbox_api_key,
      ...rest
    } = stored ?? {};
    expect([
      secrets_store,
      provider_tokens_set,
      llm_api_key_set,
      search_api_key_set,
      llm_api_key,
      search_api_key,
      sandbox_api_key,
    ]).toHaveLength(7);
    expect(posted('/api/settings')).toEqual({ ...rest, max_iterations: 7 });
    expect(notices.join()).toContain('sandbox_api_key');
  });

  it('are cleared by an empty text where null would keep the value', async () => {
    await server.settings.write(
      change({ unset: ['llm_base_url', 'llm_api_key', 'language', 'enable_default_condenser'] }),
    );
    expect(posted('/api/settings')).toMatchObject({
      llm_base_url: '',
      llm_api_key: '',
      language: null,
      enable_default_condenser: true,
    });
  });

  it('replace a masked key of an MCP server with the stored one, and refuse a mask without a stored key', async () => {
    const mcp = (url: string) => ({ sse_servers: [{ url, api_key: '<redacted>' }] });
    await server.settings.write(change({ set: { mcp_config: mcp('http://127.0.0.1:9/sse') } }));
    expect(posted('/api/settings')).toMatchObject({
      mcp_config: { sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: 'placeholder' }] },
    });
    const error = await failure(server.settings.write(change({ set: { mcp_config: mcp('http://elsewhere/sse') } })));
    expect([error.kind, error.exitCode]).toEqual(['conflict', 6]);
    expect(error.message).toContain('http://elsewhere/sse');
  });

  it('refuse a wrong type, bound or name before anything is sent', async () => {
    const wrong: SettingsChange['set'][] = [
      { max_iterations: 'many' },
      { max_iterations: 0 },
      { remote_runtime_resource_factor: 3 },
      { mcp_config: { nope: [] } },
      { no_such: 1 },
    ];
    for (const set of wrong) {
      expect((await failure(server.settings.write(change({ set })))).kind).toBe('usage');
    }
    expect(fake.asked).toEqual([]);
  });

  it('write secrets_store where servers accept it, and keep the other providers', async () => {
    stored = { ...stored, provider_tokens_set: { gitlab: null } };
    const secrets_store = {
      provider_tokens: { github: { token: 'ght' } },
      custom_secrets: { TOKEN_A: { secret: 's', description: 'd' } },
    };
    const { handler } = fake;
    fake.handler = (asked) =>
      asked.method === 'GET' && asked.path === '/api/secrets'
        ? { json: { custom_secrets: [{ name: 'TOKEN_A', description: '' }] } }
        : handler(asked);
    await server.settings.write(change({ set: { secrets_store } }));
    expect(posted('/api/add-git-providers')).toEqual({
      provider_tokens: { gitlab: { token: '', host: null }, github: { token: 'ght' } },
    });
    expect(posted('/api/secrets')).toEqual({ name: 'TOKEN_A', value: 's', description: 'd' });
    expect(fake.lines()).toContain('DELETE /api/secrets/TOKEN_A');
    expect(logged.filter((line) => line.startsWith('>')).join()).not.toMatch(/ght|"s"/);
  });
});

describe('settings of V1', () => {
  beforeEach(async () => {
    stored = newer.body('settings.get.after-plain') as Record<string, unknown>;
    await serve('1.11.0');
  });

  it('are read under the flat names of V0, the other members under dotted names', async () => {
    const { values, secrets } = await server.settings.read();
    expect(values).toMatchObject({
      llm_model: 'openai/gpt-4o',
      llm_base_url: 'http://127.0.0.1:3998/v1',
      max_iterations: 77,
      confirmation_mode: false,
      max_budget_per_task: 2.5,
      enable_default_condenser: true,
      'agent_settings.llm.num_retries': 5,
      'agent_settings.condenser.max_size': 240,
    });
    expect(secrets).toMatchObject({ llm_api_key: 'set', search_api_key: 'unset', sandbox_api_key: 'unknown' });
    expect(Object.keys(values).filter((name) => /api_key/.test(name))).toEqual([]);
  });

  it('are written to their place in V1, and no other member is', async () => {
    await server.settings.write(
      change({
        set: { max_iterations: 7, llm_model: 'm/n', language: 'fr' },
        unset: ['llm_api_key', 'search_api_key', 'git_user_name'],
      }),
    );
    expect(posted('/api/v1/settings')).toEqual({
      language: 'fr',
      git_user_name: null,
      search_api_key: '',
      agent_settings_diff: { llm: { model: 'm/n', api_key: null } },
      conversation_settings_diff: { max_iterations: 7 },
    });
  });

  it('refuse a wrong enumeration value, which some releases store and then cannot read', async () => {
    const error = await failure(server.settings.write(change({ set: { sandbox_grouping_strategy: 'RANDOM' } })));
    expect([error.kind, error.exitCode]).toEqual(['usage', 2]);
    expect(posted('/api/v1/settings')).toBeUndefined();
  });

  it('report members that V1 does not have', async () => {
    const error = await failure(server.settings.write(change({ set: { enable_solvability_analysis: false } })));
    expect([error.kind, error.exitCode]).toEqual(['unsupported', 12]);
  });

  it('convert MCP servers into the map of V1', async () => {
    const mcp_config = {
      sse_servers: [{ url: 'http://s/sse', api_key: 'k' }],
      shttp_servers: [{ url: 'https://h/mcp', timeout: 30 }],
      stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'x'], env: { A: 'b' } }],
    };
    await server.settings.write(change({ set: { mcp_config } }));
    expect(posted('/api/v1/settings')).toEqual({
      agent_settings_diff: {
        mcp_config: {
          sse: { url: 'http://s/sse', transport: 'sse', headers: { Authorization: 'Bearer k' } },
          shttp: { url: 'https://h/mcp', transport: 'http', timeout: 30 },
          files: { command: 'npx', args: ['-y', 'x'], env: { A: 'b' } },
        },
      },
    });
  });

  it('refuse to lose the key of an MCP server that cannot be read back', async () => {
    stored = newer.body('settings.get.mcp') as Record<string, unknown>;
    const read = (await server.settings.read()).values['mcp_config'];
    expect(read).toMatchObject({ shttp_servers: [{ url: 'http://127.0.0.1:9/mcp', api_key: '<redacted>' }] });
    const set = { mcp_config: { shttp_servers: [{ url: 'http://127.0.0.1:9/mcp' }] } };
    expect((await failure(server.settings.write(change({ set })))).kind).toBe('conflict');
    await server.settings.write(change({ set, allow_loss: 'allow' }));
    expect(posted('/api/v1/settings')).toBeDefined();
  });

  it('are defaults while nothing is stored', async () => {
    stored = null;
    const { stored: there, values, secrets } = await server.settings.read();
    expect([there, values['max_iterations'], secrets['llm_api_key']]).toEqual([false, 500, 'unset']);
  });
});
