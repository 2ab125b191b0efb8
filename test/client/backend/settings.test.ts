/** Settings, secrets and model profiles of a backend, over the answers of a genuine one. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/domain/settings.ts';
import { useWorld } from '../../support/use-world.ts';
import { NOT_FOUND, type Reply, type Routes } from '../../support/server.ts';
import { backend, backendHandler } from '../support/backend-server.ts';

const at = useWorld({ script: () => NOT_FOUND, configPer: 'test' });
const MASK = '**********';
let stored: { agent_settings: JsonObject; conversation_settings: JsonObject };

const serve = (routes: Routes) => void (at.server.handler = backendHandler(routes));

/** A server that has stored `after` once it is patched. */
function serveSettings(after: (settings: typeof stored) => unknown = () => undefined): void {
  serve({
    'GET /api/settings': () => ({ json: stored }),
    'PATCH /api/settings': () => {
      after(stored);
      return { json: stored };
    },
    '/api/settings/agent-schema': backend.reply('settings.agent-schema'),
    '/api/settings/conversation-schema': backend.reply('settings.conversation-schema'),
  });
}
const sent = () => at.server.writes().map(({ body }) => body);

beforeEach(() => {
  stored = structuredClone(backend.body('settings.get.after')) as typeof stored;
  serveSettings();
});

describe('settings of a backend', () => {
  it('are listed under the flat names, with what its schemas have beyond them', async () => {
    const settings = await at.json<Record<string, JsonValue>>('settings get');
    expect(settings).toMatchObject({
      llm_model: 'openai/scripted',
      llm_api_key: '(set)',
      max_iterations: 500,
      mcp_config: null,
      'agent_settings.llm.num_retries': 0,
    });
    expect(settings).not.toHaveProperty('language');
  });

  it('are written as a merge of the members that change', async () => {
    serveSettings(({ agent_settings: agent, conversation_settings: conversation }) => {
      conversation['max_iterations'] = 7;
      (agent['llm'] as JsonObject)['num_retries'] = 3;
    });
    await at.ends('settings set max_iterations=7 agent_settings.llm.num_retries=3', {
      writes: ['PATCH /api/settings'],
      err: ['max_iterations: 500 -> 7', 'agent_settings.llm.num_retries: 0 -> 3'],
    });
    expect(sent()).toEqual([
      {
        conversation_settings_diff: { max_iterations: 7 },
        agent_settings_diff: { llm: { num_retries: 3 } },
      },
    ]);
  });

  it('are unset by null below agent_settings, and by their default elsewhere', async () => {
    stored.conversation_settings['max_iterations'] = 7;
    serveSettings(({ agent_settings: agent, conversation_settings: conversation }) => {
      conversation['max_iterations'] = 500;
      Object.assign(agent['llm'] as JsonObject, { api_key: null, base_url: null });
    });
    await at.ends('settings unset max_iterations llm_api_key llm_base_url', {});
    expect(sent()).toEqual([
      {
        conversation_settings_diff: { max_iterations: 500 },
        agent_settings_diff: { llm: { api_key: null, base_url: null } },
      },
    ]);
  });

  at.rows({
    'settings unset exits 12 for the model, which the server requires': {
      acs: 'settings unset llm_model',
      code: 12,
      err: 'this server cannot unset llm_model; set it to a value',
      writes: [],
    },
    'settings set exits 12 for a setting that only app servers have': {
      acs: 'settings set language=de',
      code: 12,
      err: 'this server has no setting language; V1 servers do',
      writes: [],
    },
    'settings set exits 2 for a name that the schemas lack': {
      acs: 'settings set agent_settings.llm.nonsense=5',
      code: 2,
      err: 'no setting "agent_settings.llm.nonsense"',
      writes: [],
    },
    'settings set exits 2 with the text of the server when it refuses a value': {
      server: { 'PATCH /api/settings': backend.reply('settings.patch.wrong-type') },
      acs: 'settings set agent_settings.llm.top_p=7',
      code: 2,
      err: 'the server refuses these settings: Settings validation failed',
    },
    'settings set exits 9 when the server has ignored a value': {
      acs: 'settings set max_iterations=8',
      code: 9,
      err: 'stored other values: max_iterations is 500, not 8',
    },
  });

  const KEYED: JsonObject = {
    a: { url: 'https://a.example/mcp', headers: { Authorization: MASK, 'X-Team': MASK } },
    b: { command: 'npx', args: ['b'], env: { TOKEN: MASK } },
    d: { url: 'https://d.example/mcp', auth: { strategy: 'api_key', value: MASK } },
  };
  const file = () => path.join(at.dir, 'mcp.json');

  it('keep the secrets of MCP servers that are written back masked', async () => {
    stored.agent_settings['mcp_config'] = KEYED;
    const shown = await at.json<{ mcp_config: Record<string, JsonObject> }>(
      'settings get mcp_config',
    );
    expect(JSON.stringify(shown)).not.toContain(MASK);
    await writeFile(
      file(),
      JSON.stringify({
        ...shown.mcp_config,
        a: { ...shown.mcp_config['a'], url: 'https://e.example' },
      }),
    );
    await at.ends(`settings set mcp_config=@${file()}`, {});
    expect(sent()).toEqual([
      {
        agent_settings_diff: {
          mcp_config: {
            a: { url: 'https://e.example', headers: {} },
            b: { command: 'npx', args: ['b'], env: {} },
            d: { url: 'https://d.example/mcp', auth: { strategy: 'api_key' } },
          },
        },
      },
    ]);
  });

  it('lose a secret of an MCP server only with --allow-loss, which sends null for it', async () => {
    stored.agent_settings['mcp_config'] = KEYED;
    await writeFile(
      file(),
      JSON.stringify({ a: { url: 'https://a.example/mcp', headers: { 'X-Team': MASK } } }),
    );
    const line = `settings set mcp_config=@${file()}`;
    await at.ends(line, { code: 6, err: 'would be lost: a.headers.Authorization', writes: [] });
    serveSettings(({ agent_settings: agent }) => {
      agent['mcp_config'] = { a: KEYED['a'] as JsonObject };
    });
    await at.ends(`${line} --allow-loss`, {});
    expect(sent()).toEqual([
      {
        agent_settings_diff: {
          mcp_config: {
            a: { url: 'https://a.example/mcp', headers: { Authorization: null } },
            b: null,
            d: null,
          },
        },
      },
    ]);
  });
});

describe('secrets of a backend', () => {
  const SECRETS = '/api/settings/secrets';

  it('are replaced by one request that repeats the stored description', async () => {
    serve({
      [`GET ${SECRETS}`]: backend.reply('secrets.list2'),
      [`PUT ${SECRETS}`]: backend.reply('secrets.put'),
    });
    await at.ends('secret set TOKEN_A -', {
      stdin: 'new-value-0123',
      out: 'TOKEN_A\ta\t\n',
      err: 'TOKEN_A existed; its value was replaced',
      writes: [`PUT ${SECRETS}`],
      hides: 'new-value-0123',
    });
    expect(sent()).toEqual([{ name: 'TOKEN_A', value: 'new-value-0123', description: 'a' }]);
    expect(at.server.lines()).not.toContain(`GET ${SECRETS}/TOKEN_A`);
  });

  at.rows({
    'secret set exits 2 with the text of the server when it refuses the name': {
      server: {
        [`GET ${SECRETS}`]: { json: { secrets: [] } },
        [`PUT ${SECRETS}`]: { status: 422, json: { detail: 'Invalid secret name format.' } },
      },
      acs: 'secret set _A -',
      stdin: 'v',
      code: 2,
      err: 'the server refuses this secret: Invalid secret name format.',
    },
    'secret delete deletes a secret by its name': {
      server: {
        [`GET ${SECRETS}`]: backend.reply('secrets.list2'),
        [`DELETE ${SECRETS}/TOKEN_A`]: { json: { deleted: true } },
      },
      acs: 'secret delete TOKEN_A -y',
      writes: [`DELETE ${SECRETS}/TOKEN_A`],
    },
  });
});

describe('model profiles of a backend', () => {
  const saved: Reply = { status: 201, json: { name: 'fast', message: 'saved' } };
  const listed = {
    profiles: [{ name: 'fast', model: 'openai/m', base_url: null, api_key_set: true }],
    active_profile: 'fast',
  };
  const encrypted = { json: { name: 'fast', config: { model: 'old', api_key: 'gAAAAcipher' } } };

  it('are saved from the current model settings, which are read encrypted', async () => {
    serve({
      'GET /api/settings': { json: { agent_settings: { llm: { model: 'm', api_key: 'gAAAAc' } } } },
      'POST /api/profiles/fast': saved,
      'GET /api/profiles': { json: listed },
    });
    await at.ends('settings profile save fast', { out: 'fast\topenai/m\t\ttrue\ttrue\n' });
    expect(sent()).toEqual([{ llm: { model: 'm', api_key: 'gAAAAc' } }]);
    const read = at.server.asked.find(({ path: asked }) => asked === '/api/settings');
    expect(read?.headers['x-expose-secrets']).toBe('encrypted');
  });

  it('keep their key when they are saved with another model', async () => {
    serve({
      'GET /api/profiles/fast': encrypted,
      'POST /api/profiles/fast': saved,
      'GET /api/profiles': { json: listed },
    });
    await at.ends('settings profile save fast llm_model=openai/m', { hides: 'gAAAAcipher' });
    expect(sent()).toEqual([{ llm: { model: 'openai/m', api_key: 'gAAAAcipher' } }]);
  });

  at.rows({
    'settings profile save exits 2 when the server refuses the name': {
      server: {
        'GET /api/profiles/_x': { status: 422, json: { detail: 'bad name' } },
        'POST /api/profiles/_x': { status: 422, json: { detail: 'bad name' } },
      },
      acs: 'settings profile save _x llm_model=m',
      code: 2,
      err: 'the server refuses this: bad name',
    },
    'settings profile use activates the profile': {
      server: {
        'GET /api/profiles': { json: { ...listed, active_profile: null } },
        'POST /api/profiles/fast/activate': { json: { name: 'fast' } },
      },
      acs: 'settings profile use fast',
      writes: ['POST /api/profiles/fast/activate'],
    },
  });
});
