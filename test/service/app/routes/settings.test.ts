import { describe, expect, it } from 'vitest';
import { gitIdentity } from '../../../../src/service/settings/settings.ts';
import { newSandbox } from '../../../../src/service/sandboxes/specs.ts';
import { appOfEachTest, expectAnswers, KEY } from '../support.ts';

const app = appOfEachTest();
const { get, post } = app;
const V0 = '/api/settings';
const V1 = '/api/v1/settings';

/** An MCP configuration as V0 has it, with a server of each kind. */
const MCP = {
  sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: 'sse-key' }],
  stdio_servers: [
    { name: 'files', command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: 'stdio-secret' } },
  ],
  shttp_servers: [{ url: 'http://127.0.0.1:9/mcp', api_key: null, timeout: 90 }],
};
const agent = (diff: object) => ({ agent_settings_diff: diff });
const conversation = (diff: object) => ({ conversation_settings_diff: diff });

describe('settings of both dialects', () => {
  it('are absent until they are stored, unlike the user', async () => {
    const conversation_settings = {
      max_iterations: 500,
      confirmation_mode: false,
      security_analyzer: 'llm',
    };
    await expectAnswers(app, [
      [V0, undefined, 404, { error: 'Settings not found' }],
      [V1, undefined, 404, { error: 'Settings not found' }],
      ['/api/v1/users/me', undefined, 200, { id: null, conversation_settings }],
      ['/api/v1/users/me?expose_secrets=true', undefined, 401],
    ]);
  });

  it('are one record: V1 returns what V0 stores, and V0 what V1 stores', async () => {
    const given = {
      llm_model: 'openai/small',
      llm_api_key: 'sk-secret',
      max_iterations: 44,
      git_user_name: 'Ann',
    };
    await expectAnswers(app, [
      [`POST ${V0}`, { ...given, condenser_max_size: 30 }, 200, { message: 'Settings stored' }],
    ]);
    expect(await get(V1)).toMatchObject({
      git_user_name: 'Ann',
      llm_api_key_set: true,
      agent_settings: {
        agent_kind: 'openhands',
        llm: { model: 'openai/small', api_key: null },
        condenser: { max_size: 30 },
      },
      conversation_settings: { max_iterations: 44 },
    });
    await post(V1, { ...agent({ llm: { model: 'openai/large' } }), language: 'de' });
    const shown = {
      llm_model: 'openai/large',
      language: 'de',
      max_iterations: 44,
      llm_api_key: null,
    };
    await expectAnswers(app, [[V0, undefined, 200, { ...shown, llm_api_key_set: true }]]);
  });

  it('never contain a secret', async () => {
    const keys = {
      llm_api_key: 'sk-secret',
      search_api_key: 'tvly-secret',
      sandbox_api_key: 'box-secret',
    };
    await post(V0, { ...keys, mcp_config: MCP });
    const shown = JSON.stringify([await get(V1), await get('/api/v1/users/me')]);
    expect(shown).not.toMatch(/sk-secret|tvly-secret|box-secret|sse-key|stdio-secret/);
    expect(JSON.stringify(await get(V0))).not.toMatch(/sk-secret|tvly-secret|box-secret/);
  });

  it('are shown with their secrets to a client with the key of the server and that of a running sandbox', async () => {
    const row = newSandbox('process', app.context.clock.stamp());
    app.store.sandboxes.insert({ ...row, status: 'RUNNING', port: 1 });
    const llm = {
      llm_model: 'openai/small',
      llm_api_key: 'sk-secret',
      llm_base_url: 'http://127.0.0.1:9/v1',
    };
    await post(V0, { ...llm, search_api_key: 'tvly-secret', mcp_config: MCP });
    await post(`${V1}/profiles/fast`, { llm: { model: 'openai/fast', api_key: 'sk-fast' } });
    const ask = async (headers: Record<string, string>, query = '?expose_secrets=true') => {
      const { status, body } = await app.call(
        'GET',
        `/api/v1/users/me${query}`,
        undefined,
        headers,
      );
      return status === 200 ? body : [status, (body as { detail: string }).detail];
    };
    const owner = { Authorization: `Bearer ${KEY}` };
    const both = { ...owner, 'X-Session-API-Key': row.session_api_key };
    expect(await ask(both)).toMatchObject({
      ...llm,
      search_api_key: 'tvly-secret',
      agent_settings: {
        llm: { model: 'openai/small', api_key: 'sk-secret' },
        mcp_config: {
          'sse-1': { auth: { strategy: 'bearer', value: 'sse-key' } },
          files: { env: { TOKEN: 'stdio-secret' } },
        },
      },
      llm_profiles: { profiles: { fast: { model: 'openai/fast', api_key: 'sk-fast' } } },
    });
    expect(JSON.stringify(await ask(both, ''))).not.toMatch(/sk-|tvly-|sse-key|stdio-secret/);
    expect(await ask(owner)).toEqual([401, 'X-Session-API-Key header is required']);
    expect(await ask({ 'X-Session-API-Key': KEY })).toEqual([401, 'Invalid session API key']);
    expect(await ask({ ...owner, 'X-Session-API-Key': 'nope' })).toEqual([
      401,
      'Invalid session API key',
    ]);
    expect(await ask({ 'X-Session-API-Key': row.session_api_key })).toEqual([401, 'Unauthorized']);
    app.store.sandboxes.update(row.id, { status: 'PAUSED' });
    expect(await ask(both)).toEqual([401, 'Sandbox is not running']);
  });

  it('are the name and the address under which git in a sandbox commits, and none where none is set', async () => {
    const identity = async (given: object) => {
      await post(V1, given);
      return gitIdentity(app.store.documents);
    };
    expect(await identity({})).toEqual({});
    expect(await identity({ git_user_name: 'A B' })).toEqual({
      GIT_AUTHOR_NAME: 'A B',
      GIT_COMMITTER_NAME: 'A B',
    });
    const address = { GIT_AUTHOR_EMAIL: 'a@example.com', GIT_COMMITTER_EMAIL: 'a@example.com' };
    expect(await identity({ git_user_email: 'a@example.com', git_user_name: null })).toEqual(
      address,
    );
  });
});

describe('settings of V0', () => {
  it('are replaced as a whole, except model, keys, consent and what only V1 has', async () => {
    const kept = { llm_model: 'openai/small', llm_base_url: 'http://127.0.0.1:3998/v1' };
    const reset = {
      max_iterations: 44,
      enable_default_condenser: false,
      mcp_config: MCP,
      agent: 'Mine',
    };
    const keys = { llm_api_key: 'sk', search_api_key: 's', sandbox_api_key: 'b' };
    await post(V1, { git_full_clone: true, ...agent({ llm: { timeout: 9 } }) });
    await post(V0, {
      language: 'de',
      user_consents_to_analytics: true,
      ...kept,
      ...reset,
      ...keys,
    });
    await post(V0, { language: 'fr' });
    expect(await get(V0)).toMatchObject({
      language: 'fr',
      user_consents_to_analytics: true,
      ...kept,
      llm_api_key_set: true,
      search_api_key_set: true,
      max_iterations: null,
      enable_default_condenser: true,
      mcp_config: null,
      agent: null,
    });
    expect(await get(V0)).not.toHaveProperty('git_full_clone');
    expect(await get(V1)).toMatchObject({
      git_full_clone: true,
      agent_settings: { llm: { timeout: 9 } },
    });
    expect(app.store.documents.read('settings')).not.toHaveProperty('plain.sandbox_api_key');
    await post(V0, { llm_base_url: '', llm_api_key: '', search_api_key: '' });
    const cleared = {
      llm_base_url: null,
      llm_api_key_set: false,
      search_api_key_set: false,
      language: null,
    };
    expect(await get(V0)).toMatchObject(cleared);
  });

  it.each([
    [{ max_iterations: 'many' }, 'int_parsing', ['max_iterations']],
    [{ condenser_max_size: 5 }, 'value_error', ['condenser_max_size']],
    [{ mcp_config: { nope: [] } }, 'extra_forbidden', ['mcp_config', 'nope']],
    [{ enable_sound_notifications: 'maybe' }, 'bool_parsing', ['enable_sound_notifications']],
    [{ sandbox_grouping_strategy: 'NOPE' }, 'enum', ['sandbox_grouping_strategy']],
    [
      { mcp_config: { stdio_servers: [{ name: 'a b', command: 'x' }] } },
      'value_error',
      ['mcp_config', 'stdio_servers', 0, 'name'],
    ],
    [
      { mcp_config: { sse_servers: [{ url: 'ftp://x' }] } },
      'value_error',
      ['mcp_config', 'sse_servers', 0, 'url'],
    ],
  ])('refuse %j and store nothing', async (wrong, type, loc) => {
    await post(V0, { language: 'de' });
    await expectAnswers(app, [
      [`POST ${V0}`, wrong, 422, { detail: [{ type, loc: ['body', ...loc] }] }],
      [V0, undefined, 200, { language: 'de' }],
    ]);
  });

  it('accept the short forms of MCP servers, and drop a secrets store', async () => {
    await post(V0, {
      mcp_config: {
        stdio_servers: [{ name: 'a', command: 'npx', args: '-y "some server"', env: 'K=V,L=W' }],
      },
      secrets_store: { provider_tokens: { github: { token: 'x' } } },
    });
    expect(await get(V0)).toMatchObject({
      provider_tokens_set: {},
      mcp_config: { stdio_servers: [{ args: ['-y', 'some server'], env: { K: 'V', L: 'W' } }] },
    });
  });
});

describe('settings of V1', () => {
  it('are merged: a missing member keeps its value, null or an empty text clears it', async () => {
    const first = {
      language: 'de',
      git_user_name: 'Ann',
      disabled_skills: ['a'],
      user_consents_to_analytics: true,
    };
    await post(V1, {
      ...first,
      ...conversation({ max_iterations: 77 }),
      ...agent({ llm: { model: 'm', api_key: 'k' } }),
    });
    await post(V1, {
      git_user_name: null,
      ...conversation({ max_iterations: null }),
      disabled_skills: null,
    });
    await post(V1, {
      user_consents_to_analytics: null,
      ...agent({ llm: { api_key: '**********', model: 'n' } }),
    });
    expect(await get(V1)).toMatchObject({
      language: 'de',
      git_user_name: null,
      disabled_skills: ['a'],
      user_consents_to_analytics: true,
      conversation_settings: { max_iterations: 500 },
      agent_settings: { llm: { model: 'n' } },
      llm_api_key_set: true,
    });
    await post(V1, { language: '', ...agent({ llm: { api_key: '' } }) });
    expect(await get(V1)).toMatchObject({
      language: null,
      llm_api_key_set: false,
      agent_settings: { llm: { model: 'n' } },
    });
    await post(V1, agent({ llm: null }));
    expect(await get(V1)).toMatchObject({ agent_settings: { llm: { model: '' } } });
  });

  it.each<[unknown, number, unknown?]>([
    [
      { agent_settings: { llm: {} } },
      422,
      { error: expect.stringContaining('_diff'), keys: ['agent_settings'] },
    ],
    [
      { enable_sound_notifications: 'perhaps' },
      422,
      { detail: [{ loc: ['body', 'enable_sound_notifications'] }] },
    ],
    [{ sandbox_grouping_strategy: 'NOPE' }, 422],
    [{ language: 'fr', ...conversation({ max_iterations: 'many' }) }, 400],
    [
      conversation({ max_iterations: 0 }),
      400,
      { error: expect.stringMatching(/^conversation_settings_diff\.max_iterations\n/) },
    ],
    [agent([]), 400, { error: expect.stringContaining('valid dictionary') }],
    [agent({ llm: { model: 5 } }), 400],
    [agent({ agent_kind: 'acp' }), 400, { error: expect.stringContaining('only agents') }],
    [agent({ agent_kind: 'nope' }), 400, { error: expect.stringContaining("Input tag 'nope'") }],
    [
      agent({ mcp_config: { x: { nothing: 1 } } }),
      400,
      { error: expect.stringContaining('mcp_config.x') },
    ],
    [[1], 422],
  ])('refuse %j and store none of it', async (body, status, answer) => {
    await expectAnswers(app, [
      [`POST ${V1}`, { language: 'de' }, 200],
      [`POST ${V1}`, body, status, answer],
      [V1, undefined, 200, { language: 'de', agent_settings: { llm: { model: '' } } }],
    ]);
  });

  it('ignore names that there are not', async () => {
    await expectAnswers(app, [[`POST ${V1}`, { no_such_setting: 1, ...agent({ nope: 2 }) }, 200]]);
  });

  it('return the MCP servers of V0 as a map, and accept that map unchanged', async () => {
    await post(V0, { mcp_config: MCP });
    const { agent_settings } = await get<{
      agent_settings: { mcp_config: Record<string, unknown> };
    }>(V1);
    expect(agent_settings.mcp_config).toEqual({
      'sse-1': { url: 'http://127.0.0.1:9/sse', transport: 'sse', auth: { strategy: 'bearer' } },
      files: { command: 'npx', args: ['-y', 'some-server'], env: { TOKEN: '**********' } },
      'shttp-1': { url: 'http://127.0.0.1:9/mcp', transport: 'http', timeout: 90 },
    });
    await post(V1, agent({ mcp_config: agent_settings.mcp_config }));
    expect((await get(V0)).mcp_config).toEqual(MCP);
    await post(V1, agent({ mcp_config: null }));
    expect((await get(V0)).mcp_config).toBeNull();
  });

  it('accept every value of their own schema, or say there that only the default is accepted', async () => {
    type Field = {
      key: string;
      value_type: string;
      description: string;
      default: unknown;
      secret: boolean;
      choices: { value: string }[];
    };
    const { sections } = await get<{ sections: { key: string; fields: Field[] }[] }>(
      `${V1}/agent-schema`,
    );
    expect(sections.map(({ key }) => key)).toEqual(['general', 'llm', 'condenser', 'verification']);
    const fields = sections.flatMap((section) => section.fields);
    expect(fields.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['llm.model', 'condenser.max_size']),
    );
    expect(fields.find(({ key }) => key === 'llm.api_key')?.secret).toBe(true);
    const samples = {
      string: 'x',
      integer: 25,
      number: 2.5,
      boolean: true,
      array: [],
      object: { a: 1 },
    };
    for (const { key, choices, value_type, description, default: usual } of fields) {
      const value = choices[0]?.value ?? samples[value_type as keyof typeof samples];
      const isRefused = description.includes('Only the default') && value !== usual;
      const diff = key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
      expect([key, (await post(V1, agent(diff as object))).status]).toEqual([
        key,
        isRefused ? 501 : 200,
      ]);
    }
  });
});

describe('profiles', () => {
  const at = (name: string): string => `${V1}/profiles/${name}`;

  it('are active until the model settings, or their key, differ from theirs', async () => {
    const active = async () => (await get(`${V1}/profiles`)).active_profile;
    await post(V1, agent({ llm: { model: 'openai/a', api_key: 'sk-first' } }));
    await post(at('first'));
    await post(at('first/activate'));
    await post(V1, {
      language: 'de',
      ...agent({ llm: { model: 'openai/a', api_key: 'sk-first' } }),
    });
    expect(await active()).toBe('first');
    for (const llm of [{ model: 'openai/b' }, { api_key: 'sk-second' }]) {
      await post(at('first/activate'));
      await post(V1, agent({ llm }));
      expect(await active()).toBeNull();
      await post(V1, agent({ llm: { model: 'openai/a', api_key: 'sk-first' } }));
      expect(await active()).toBeNull();
    }
  });

  it('are saved, listed, activated, renamed and deleted', async () => {
    const [first, second] = [
      { name: 'first', model: 'openai/a', base_url: null, api_key_set: true },
      { name: 'second', model: 'openai/b', base_url: null, api_key_set: false },
    ];
    await expectAnswers(app, [
      [`POST ${at('first')}`, undefined, 404, { detail: 'Settings not found' }],
      [`POST ${V1}`, agent({ llm: { model: 'openai/a', api_key: 'sk' } }), 200],
      [`POST ${at('first')}`, undefined, 201, { name: 'first' }],
      [`POST ${at('second')}`, { llm: { model: 'openai/b' } }, 201],
      [`POST ${at('third')}`, { llm: { model: 5 } }, 422, { detail: [{ loc: ['body', 'llm'] }] }],
      [`POST ${at('a%20b')}`, undefined, 422],
      [`${V1}/profiles`, undefined, 200, { profiles: [first, second] }],
      [`POST ${at('second/activate')}`, undefined, 200],
      [
        V1,
        undefined,
        200,
        { agent_settings: { llm: { model: 'openai/b' } }, llm_api_key_set: false },
      ],
      [`POST ${at('second/rename')}`, { new_name: 'first' }, 409],
      [`POST ${at('second/rename')}`, { new_name: 'third' }, 200],
      [`${V1}/profiles`, undefined, 200, { active_profile: 'third' }],
      [`DELETE ${at('third')}`, undefined, 200],
      [at('third'), undefined, 404],
      [`${V1}/profiles`, undefined, 200, { active_profile: null }],
    ]);
  });

  it('that were never saved are unknown, also with the name of a member of every object', async () => {
    for (const name of ['nope', 'constructor', '__proto__']) {
      await expectAnswers(app, [
        [at(name), undefined, 404],
        [`POST ${at(name)}/activate`, undefined, 404],
        [`POST ${at(name)}/rename`, { new_name: 'other' }, 404],
      ]);
    }
    await expectAnswers(app, [
      [`POST ${at('constructor')}`, { llm: { model: 'a' } }, 201],
      [at('constructor'), undefined, 200, { config: { model: 'a' } }],
    ]);
  });

  it('name the models that can be looked up, in pages', async () => {
    for (const model of ['openai/small', 'openai/large', 'local'])
      await post(at(model.slice(-5)), { llm: { model } });
    const names = async (path: string): Promise<unknown> => {
      const { items, next_page_id } = await get<{
        items: { name: string }[];
        next_page_id: unknown;
      }>(path);
      return [...items.map(({ name }) => name), next_page_id];
    };
    const models = '/api/v1/config/models/search';
    expect(await names(models)).toEqual(['local', 'large', 'small', null]);
    expect(await names(`${models}?query=OPENAI&limit=1`)).toEqual(['large', '1']);
    expect(await names(`${models}?query=OPENAI&limit=1&page_id=1`)).toEqual(['small', null]);
    expect(await names('/api/v1/config/providers/search')).toEqual(['openai', null]);
    expect(await names('/api/v1/config/providers/search?query=none')).toEqual([null]);
  });
});
