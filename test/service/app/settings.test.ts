import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestApp, type TestApp } from './support.ts';

let app: TestApp;
beforeEach(async () => {
  app = await createTestApp();
});
afterEach(() => app.close());

type Body = Record<string, unknown>;
const get = async (path: string): Promise<Body> => (await app.call('GET', path)).body as Body;
const post = (path: string, body: unknown) => app.call('POST', path, body);
const V0 = '/api/settings';
const V1 = '/api/v1/settings';

const MCP = {
  sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: 'sse-key' }],
  stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: 'stdio-secret' } }],
  shttp_servers: [{ url: 'http://127.0.0.1:9/mcp', api_key: null, timeout: 90 }],
};

describe('settings of both dialects', () => {
  it('are absent until they are stored, unlike the user', async () => {
    expect(await app.call('GET', V0)).toMatchObject({ status: 404, body: { error: 'Settings not found' } });
    expect(await app.call('GET', V1)).toMatchObject({ status: 404, body: { error: 'Settings not found' } });
    expect(await get('/api/v1/users/me')).toMatchObject({
      id: null,
      conversation_settings: { max_iterations: 500, confirmation_mode: false, security_analyzer: 'llm' },
    });
  });

  it('are one record: V1 returns what V0 stores, and V0 what V1 stores', async () => {
    await post(V0, { llm_model: 'openai/small', llm_api_key: 'sk-secret', max_iterations: 44, git_user_name: 'Ann' });
    expect(await get(V1)).toMatchObject({
      git_user_name: 'Ann',
      llm_api_key_set: true,
      agent_settings: { agent_kind: 'openhands', llm: { model: 'openai/small', api_key: null } },
      conversation_settings: { max_iterations: 44 },
    });
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/large' } }, language: 'de' });
    expect(await get(V0)).toMatchObject({
      llm_model: 'openai/large',
      language: 'de',
      max_iterations: 44,
      llm_api_key: null,
      llm_api_key_set: true,
    });
  });

  it('never contain a secret', async () => {
    await post(V0, {
      llm_api_key: 'sk-secret',
      search_api_key: 'tvly-secret',
      sandbox_api_key: 'box-secret',
      mcp_config: MCP,
    });
    const shown = JSON.stringify([await get(V1), await get('/api/v1/users/me')]);
    expect(shown).not.toMatch(/sk-secret|tvly-secret|box-secret|sse-key|stdio-secret/);
    expect(JSON.stringify(await get(V0))).not.toMatch(/sk-secret|tvly-secret|box-secret/);
  });
});

describe('a body other than a JSON object', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;

  it.each([V0, V1, '/api/conversations', '/api/v1/app-conversations', '/api/v1/secrets'])(
    'is refused by %s, a list or nested deeply',
    async (path) => {
      expect((await post(path, '[]')).status).toBe(422);
      expect((await post(path, '[{"language":"de"}]')).status).toBe(422);
      expect((await post(path, deep)).status).toBe(422);
    },
  );

  it('is refused as a replay, too', async () => {
    const replay = await post('/api/v1/app-conversations', { replay_json: `[${deep}]` });
    expect(replay.status).toBe(422);
    expect(JSON.stringify(replay.body)).toContain('nested too deeply');
  });
});

describe('settings of V0', () => {
  it('are replaced as a whole, except the members that are kept', async () => {
    await post(V0, {
      language: 'de',
      llm_model: 'openai/small',
      llm_base_url: 'http://127.0.0.1:3998/v1',
      llm_api_key: 'sk',
      max_iterations: 44,
      enable_default_condenser: false,
      user_consents_to_analytics: true,
      mcp_config: MCP,
    });
    expect(await post(V0, { language: 'fr' })).toMatchObject({ status: 200, body: { message: 'Settings stored' } });
    expect(await get(V0)).toMatchObject({
      language: 'fr',
      llm_model: 'openai/small',
      llm_base_url: 'http://127.0.0.1:3998/v1',
      llm_api_key_set: true,
      user_consents_to_analytics: true,
      max_iterations: null,
      enable_default_condenser: true,
      mcp_config: null,
    });
    await post(V0, { llm_base_url: '', llm_api_key: '' });
    expect(await get(V0)).toMatchObject({ llm_base_url: null, llm_api_key_set: false, language: null });
  });

  it.each([
    [{ max_iterations: 'many' }, 'int_parsing', ['body', 'max_iterations']],
    [{ condenser_max_size: 5 }, 'value_error', ['body', 'condenser_max_size']],
    [{ mcp_config: { nope: [] } }, 'extra_forbidden', ['body', 'mcp_config', 'nope']],
    [{ enable_sound_notifications: 'maybe' }, 'bool_parsing', ['body', 'enable_sound_notifications']],
    [{ sandbox_grouping_strategy: 'NOPE' }, 'enum', ['body', 'sandbox_grouping_strategy']],
    [
      { mcp_config: { stdio_servers: [{ name: 'a b', command: 'x' }] } },
      'value_error',
      ['body', 'mcp_config', 'stdio_servers', 0, 'name'],
    ],
    [
      { mcp_config: { sse_servers: [{ url: 'ftp://x' }] } },
      'value_error',
      ['body', 'mcp_config', 'sse_servers', 0, 'url'],
    ],
  ])('refuse %j and store nothing', async (wrong, type, loc) => {
    await post(V0, { language: 'de' });
    expect(await post(V0, wrong)).toMatchObject({ status: 422, body: { detail: [{ type, loc }] } });
    expect(await get(V0)).toMatchObject({ language: 'de' });
  });

  it('accept the short forms of MCP servers, and drop a secrets store', async () => {
    await post(V0, {
      mcp_config: { stdio_servers: [{ name: 'a', command: 'npx', args: '-y "some server"', env: 'K=V,L=W' }] },
      secrets_store: { provider_tokens: { github: { token: 'x' } } },
    });
    expect(await get(V0)).toMatchObject({
      provider_tokens_set: {},
      mcp_config: { stdio_servers: [{ args: ['-y', 'some server'], env: { K: 'V', L: 'W' } }] },
    });
  });
});

describe('settings of V1', () => {
  it('are merged: a missing member keeps its value, null clears it', async () => {
    await post(V1, { language: 'de', git_user_name: 'Ann', conversation_settings_diff: { max_iterations: 77 } });
    await post(V1, { git_user_name: null, conversation_settings_diff: { max_iterations: null } });
    expect(await get(V1)).toMatchObject({
      language: 'de',
      git_user_name: null,
      conversation_settings: { max_iterations: 500 },
    });
  });

  it('refuse invalid values and store none of the request', async () => {
    await post(V1, { language: 'de' });
    const wrong: [unknown, number][] = [
      [{ agent_settings: { llm: {} } }, 422],
      [{ enable_sound_notifications: 'perhaps' }, 422],
      [{ sandbox_grouping_strategy: 'NOPE' }, 422],
      [{ language: 'fr', conversation_settings_diff: { max_iterations: 'many' } }, 400],
      [{ conversation_settings_diff: { max_iterations: 0 } }, 400],
      [{ agent_settings_diff: { llm: { model: 5 } } }, 400],
      [{ agent_settings_diff: { agent_kind: 'nope' } }, 400],
      [{ agent_settings_diff: { mcp_config: { x: { nothing: 1 } } } }, 400],
      [[1], 422],
    ];
    for (const [body, status] of wrong) expect([body, (await post(V1, body)).status]).toEqual([body, status]);
    expect(await get(V1)).toMatchObject({ language: 'de', agent_settings: { llm: { model: '' } } });
    expect((await post(V1, { no_such_setting: 1, agent_settings_diff: { nope: 2 } })).status).toBe(200);
  });

  it('return the MCP servers of V0 as a map, and accept that map unchanged', async () => {
    await post(V0, { mcp_config: MCP });
    const { agent_settings: agent } = (await get(V1)) as { agent_settings: { mcp_config: Body } };
    expect(agent.mcp_config).toEqual({
      'sse-1': { url: 'http://127.0.0.1:9/sse', transport: 'sse', auth: { strategy: 'bearer' } },
      files: { command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: '**********' } },
      'shttp-1': { url: 'http://127.0.0.1:9/mcp', transport: 'http', timeout: 90 },
    });
    await post(V1, { agent_settings_diff: { mcp_config: agent.mcp_config } });
    expect((await get(V0)).mcp_config).toEqual(MCP);
    await post(V1, { agent_settings_diff: { mcp_config: null } });
    expect((await get(V0)).mcp_config).toBeNull();
  });

  it('accept every value of their own schema', async () => {
    const schema = (await get('/api/v1/settings/agent-schema')) as {
      sections: { fields: { key: string; value_type: string; default: unknown; choices: { value: string }[] }[] }[];
    };
    const fields = schema.sections.flatMap((section) => section.fields);
    expect(fields.map((field) => field.key)).toEqual(expect.arrayContaining(['llm.model', 'condenser.max_size']));
    const samples: Record<string, unknown> = {
      string: 'x',
      integer: 25,
      number: 2.5,
      boolean: true,
      array: [],
      object: {},
    };
    for (const field of fields) {
      const value = field.choices[0]?.value ?? samples[field.value_type];
      const diff = field.key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
      expect([field.key, (await post(V1, { agent_settings_diff: diff })).status]).toEqual([field.key, 200]);
    }
  });
});

describe('profiles', () => {
  it('are active until the model settings differ from theirs', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a' } } });
    await post(`${V1}/profiles/first`, undefined);
    await post(`${V1}/profiles/first/activate`, undefined);
    await post(V1, { language: 'de', agent_settings_diff: { llm: { model: 'openai/a' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'first' });
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/b' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
  });

  it('are inactive when the key differs from theirs', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk-first' } } });
    await post(`${V1}/profiles/first`, undefined);
    await post(`${V1}/profiles/first/activate`, undefined);
    await post(V1, { agent_settings_diff: { llm: { api_key: 'sk-first' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'first' });
    await post(V1, { agent_settings_diff: { llm: { api_key: 'sk-second' } } });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: null });
  });

  it('are saved, listed, activated, renamed and deleted', async () => {
    await post(V1, { agent_settings_diff: { llm: { model: 'openai/a', api_key: 'sk' } } });
    expect(await post(`${V1}/profiles/first`, undefined)).toMatchObject({ status: 201, body: { name: 'first' } });
    await post(`${V1}/profiles/second`, { llm: { model: 'openai/b' } });
    expect((await get(`${V1}/profiles`)).profiles).toEqual([
      { name: 'first', model: 'openai/a', base_url: null, api_key_set: true },
      { name: 'second', model: 'openai/b', base_url: null, api_key_set: false },
    ]);
    await post(`${V1}/profiles/second/activate`, undefined);
    expect(await get(V1)).toMatchObject({ agent_settings: { llm: { model: 'openai/b' } }, llm_api_key_set: false });
    expect((await post(`${V1}/profiles/second/rename`, { new_name: 'first' })).status).toBe(409);
    await post(`${V1}/profiles/second/rename`, { new_name: 'third' });
    expect(await get(`${V1}/profiles`)).toMatchObject({ active_profile: 'third' });
    expect((await app.call('DELETE', `${V1}/profiles/third`)).status).toBe(200);
    expect((await app.call('GET', `${V1}/profiles/third`)).status).toBe(404);
    expect((await post(`${V1}/profiles/a%20b`, undefined)).status).toBe(422);
  });
});

describe('secrets', () => {
  it('are shared by both dialects, and their values are in no answer', async () => {
    expect(await post('/api/secrets', { name: 'TOKEN_A', value: 'hush', description: 'first' })).toMatchObject({
      status: 201,
    });
    expect(await post('/api/secrets', { name: 'TOKEN_A', value: 'x' })).toMatchObject({
      status: 400,
      body: { message: 'Secret TOKEN_A already exists' },
    });
    expect(await post('/api/v1/secrets', { name: 'TOKEN_B', value: 'hush' })).toMatchObject({ status: 201 });
    expect(await post('/api/v1/secrets', { name: 'a b', value: 'hush' })).toMatchObject({ status: 422 });
    expect(await get('/api/v1/secrets/search?limit=1')).toEqual({
      items: [{ name: 'TOKEN_A', description: 'first' }],
      next_page_id: 'TOKEN_A',
    });
    expect(await get('/api/v1/secrets/search?limit=1&page_id=TOKEN_A')).toEqual({
      items: [{ name: 'TOKEN_B', description: '' }],
      next_page_id: null,
    });
    expect((await app.call('PUT', '/api/v1/secrets/TOKEN_A', { name: 'TOKEN_B' })).status).toBe(400);
    expect((await app.call('PUT', '/api/v1/secrets/TOKEN_A', { name: 'TOKEN_C', description: 'new' })).status).toBe(
      200,
    );
    expect(await get('/api/secrets')).toEqual({
      custom_secrets: [
        { name: 'TOKEN_B', description: '' },
        { name: 'TOKEN_C', description: 'new' },
      ],
    });
    expect((await app.call('DELETE', '/api/secrets/TOKEN_C')).status).toBe(200);
    expect(await app.call('DELETE', '/api/v1/secrets/TOKEN_C')).toMatchObject({ status: 404 });
  });

  it('contain tokens of git providers by their host only', async () => {
    expect((await post('/api/v1/secrets/git-providers', { provider_tokens: { nope: { token: 'x' } } })).status).toBe(
      422,
    );
    await post('/api/add-git-providers', { provider_tokens: { forgejo: { token: 'hush', host: 'git.example.org' } } });
    await post(V0, {});
    expect(await get(V1)).toMatchObject({ provider_tokens_set: { forgejo: 'git.example.org' } });
    await post('/api/unset-provider-tokens', undefined);
    expect(await get(V0)).toMatchObject({ provider_tokens_set: {} });
    expect(await app.call('GET', '/api/user/repositories')).toMatchObject({ status: 401 });
    expect(await app.call('GET', '/api/v1/git/suggested-tasks/search')).toMatchObject({ status: 403 });
  });
});
