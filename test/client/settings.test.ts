import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SettingsChange } from '../../src/domain/settings.ts';
import type { Server } from '../../src/client/shared/server.ts';
import { connectTo, failure } from './support/client.ts';
import { NOT_FOUND, startFake, type FakeServer } from '../support/server.ts';
import { recordings } from './support/v1-server.ts';

const newer = recordings('1.11.0');
const older = recordings('1.6.0');
let fake: FakeServer;
let server: Server;
let notices: string[];
let stored: Record<string, unknown> | null;

/** A server of that release that keeps the posted settings as `stored` and returns them. */
async function serve(release: '1.11.0' | '1.6.0'): Promise<void> {
  const path = release === '1.11.0' ? '/api/v1/settings' : '/api/settings';
  const recorded = release === '1.11.0' ? newer : older;
  fake.handler = (asked) => {
    if (asked.path === '/openapi.json') return recorded.reply('probe.openapi');
    if (asked.path === '/api/v1/app-conversations/count') return { json: 0 };
    if (asked.path === path && asked.method === 'GET')
      return stored === null
        ? { status: 404, json: { error: 'Settings not found' } }
        : { json: stored };
    if (asked.method === 'POST' || asked.method === 'DELETE')
      return { json: { message: 'Settings stored' } };
    return NOT_FOUND;
  };
  notices = [];
  server = await connectTo(fake.url, { notice: (text) => notices.push(text) });
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
    const { values, secrets } = await server.settings.read();
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
    const kept = Object.entries(stored ?? {}).filter(
      ([name]) => !/_set$|_api_key$|^secrets_store$/.test(name),
    );
    expect(posted('/api/settings')).toEqual({ ...Object.fromEntries(kept), max_iterations: 7 });
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

  it('that answer 401 because of a stored value exit 9, and the error does not name the key', async () => {
    fake.handler = ({ path }) =>
      path === '/api/settings'
        ? { status: 401, json: { error: 'Invalid token' } }
        : older.reply('probe.options-config');
    const { kind, message } = await failure(server.settings.read());
    expect([kind, message]).toEqual([
      'server',
      expect.stringContaining('cannot read the settings that it has stored'),
    ]);
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
    expect(secrets).toMatchObject({
      llm_api_key: 'set',
      search_api_key: 'unset',
      sandbox_api_key: 'unknown',
    });
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

  it('refuse to lose the key of an MCP server that cannot be read back', async () => {
    stored = newer.body('settings.get.mcp') as Record<string, unknown>;
    const read = (await server.settings.read()).values['mcp_config'];
    expect(read).toEqual({
      demo: { url: 'http://127.0.0.1:9/mcp', auth: { strategy: '<redacted>' } },
    });
    const set = { mcp_config: { demo: { url: 'http://127.0.0.1:9/mcp' } } };
    expect((await failure(server.settings.write(change({ set })))).kind).toBe('conflict');
    await server.settings.write(change({ set, allow_loss: 'allow' }));
    expect(posted('/api/v1/settings')).toBeDefined();
  });

  it('are defaults while nothing is stored', async () => {
    stored = null;
    const { values, secrets } = await server.settings.read();
    expect([values['max_iterations'], secrets['llm_api_key']]).toEqual([500, 'unset']);
  });
});
