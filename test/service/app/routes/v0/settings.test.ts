import { describe, expect, it } from 'vitest';
import { appOfEachTest } from '../../support.ts';
import { MCP } from './support.ts';

const app = appOfEachTest();
const { get, post } = app;
const V0 = '/api/settings';

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
