/** Every field of the settings, and where it goes over the wire. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordingProxy } from '../../support/recording-proxy.ts';
import { createWorld } from '../../support/world.ts';

const MCP = { shttp_servers: [{ url: 'https://mcp.example.org/', api_key: 'mcp-key' }] };

/** All fields but `secrets_store`, whose parts go elsewhere. */
const VALUES = {
  language: 'de',
  agent: 'BrowsingAgent',
  max_iterations: 7,
  security_analyzer: 'none',
  confirmation_mode: true,
  llm_model: 'openai/gpt-4o',
  llm_api_key: 'model-key',
  llm_base_url: 'https://models.example.org/v1',
  remote_runtime_resource_factor: 2,
  enable_default_condenser: false,
  enable_sound_notifications: true,
  enable_proactive_conversation_starters: false,
  enable_solvability_analysis: false,
  user_consents_to_analytics: true,
  sandbox_base_container_image: 'example.org/base:1',
  sandbox_runtime_container_image: 'example.org/runtime:1',
  mcp_config: MCP,
  search_api_key: 'search-key',
  sandbox_api_key: 'sandbox-key',
  max_budget_per_task: 2.5,
  email: 'user@example.org',
  email_verified: true,
  git_user_name: 'A User',
  git_user_email: 'git@example.org',
};

const SECRETS_STORE = {
  custom_secrets: { DEPLOY_TOKEN: { secret: 'deploy-secret', description: 'to deploy' } },
};

describe('every field of the settings', () => {
  it.each(['v0', 'v1'] as const)('is sent to its place in %s, and returned', async (api) => {
    const world = await createWorld({ api, spec: 'process' });
    const proxy = await recordingProxy(world.service.url);
    const acs = (...args: string[]) => world.invoke({ args: ['settings', ...args], env: { ACS_BASE_URL: proxy.url } });
    try {
      const { enable_solvability_analysis: _onlyV0, ...ofBoth } = VALUES;
      const values = api === 'v0' ? VALUES : ofBoth;
      const document = JSON.stringify({ ...values, secrets_store: SECRETS_STORE });
      await writeFile(path.join(world.dir, 'settings.json'), document);
      const { code, err } = await acs('set', '--file', 'settings.json');
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      const {
        agent,
        llm_model,
        llm_api_key,
        llm_base_url,
        mcp_config: _servers,
        enable_default_condenser,
        ...rest
      } = ofBoth;
      const { max_iterations, confirmation_mode, security_analyzer, ...top } = rest;
      const sent = proxy.writes().find(({ path: route }) => route.endsWith('/settings'))?.body;
      expect(sent).toEqual(
        api === 'v0'
          ? // Servers drop secrets_store from this body, so its parts are sent once more to where they are taken.
            { ...VALUES, secrets_store: SECRETS_STORE }
          : {
              ...top,
              agent_settings_diff: {
                agent,
                llm: { model: llm_model, api_key: llm_api_key, base_url: llm_base_url },
                mcp_config: expect.anything(),
                condenser: { enabled: enable_default_condenser },
              },
              conversation_settings_diff: { max_iterations, confirmation_mode, security_analyzer },
            },
      );
      expect(JSON.stringify(sent)).toContain('mcp-key');
      expect(JSON.stringify(proxy.writes())).toContain('deploy-secret');
      const shown = JSON.parse((await acs('get', '--json')).out) as Record<string, unknown>;
      const {
        llm_api_key: _key,
        search_api_key: _search,
        sandbox_api_key: _sandbox,
        mcp_config: _mcp,
        ...plain
      } = values;
      expect(shown).toMatchObject({ ...plain, llm_api_key: '(set)', search_api_key: '(set)' });
      expect(JSON.stringify(shown)).not.toMatch(/model-key|search-key|sandbox-key|mcp-key|deploy-secret/);
    } finally {
      await proxy.close();
      await world.close();
    }
  });

  it.each([
    ['v1', 'enable_solvability_analysis=false', 'V0'],
    ['v0', 'git_full_clone=true', 'V1'],
    ['v0', 'agent_settings.llm.num_retries=2', 'V1'],
  ] as const)('ends with 12 on %s for %s', async (api, word, owner) => {
    const world = await createWorld({ api, spec: 'process' });
    try {
      const { code, err } = await world.acs('settings', 'set', word);
      expect({ code, named: err.includes(`${owner} servers do`) }).toEqual({ code: 12, named: true });
    } finally {
      await world.close();
    }
  });

  it('may be a nested path of V1, and the path of a flat name is that name', async () => {
    const world = await createWorld({ api: 'v1', spec: 'process' });
    const proxy = await recordingProxy(world.service.url);
    try {
      const words = ['agent_settings.llm.num_retries=2', 'conversation_settings.max_iterations=8'];
      const { code, out } = await world.invoke({
        args: ['settings', 'set', ...words, '--json'],
        env: { ACS_BASE_URL: proxy.url },
      });
      expect(code).toBe(0);
      expect(proxy.writes()[0]?.body).toEqual({
        agent_settings_diff: { llm: { num_retries: 2 } },
        conversation_settings_diff: { max_iterations: 8 },
      });
      expect(JSON.parse(out)).toMatchObject({ 'agent_settings.llm.num_retries': 2, max_iterations: 8 });
    } finally {
      await proxy.close();
      await world.close();
    }
  });
});
