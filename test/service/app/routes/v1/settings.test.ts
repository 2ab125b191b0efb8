import { describe, expect, it } from 'vitest';
import { appOfEachTest } from '../../support.ts';
import { MCP } from '../v0/support.ts';

const app = appOfEachTest();
const { get, post } = app;
const V0 = '/api/settings';
const V1 = '/api/v1/settings';

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
    const { agent_settings: agent } = await get<{ agent_settings: { mcp_config: Record<string, unknown> } }>(V1);
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
    const schema = await get<{
      sections: { fields: { key: string; value_type: string; default: unknown; choices: { value: string }[] }[] }[];
    }>('/api/v1/settings/agent-schema');
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
