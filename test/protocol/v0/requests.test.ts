import { describe, expect, it } from 'vitest';
import { useWorld } from '../../support/use-world.ts';
import { SUGGESTED_TASK, unseen, useRequestWorld } from '../support/request-world.ts';

const MCP = {
  sse_servers: [{ url: 'https://sse.example.org/', api_key: 'sse-key' }],
  shttp_servers: [{ url: 'https://shttp.example.org/', api_key: 'shttp-key' }],
  stdio_servers: [
    { name: 'files', command: 'mcp-files', args: ['--root', '.'], env: { MODE: 'stdio-env' } },
  ],
};

/**
 * The fields of V0 settings without `secrets_store`, which has commands of its own, each with a
 * value that is not its default.
 */
const SETTINGS = {
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

const MICROAGENT = { repo: 'acme/shop', git_provider: 'github', title: 'Know the shop' };

describe('the settings of V0', () => {
  const at = useWorld({ api: 'v0', spec: 'process' });

  it('all 24 fields are sent as given, mcp_config with its three kinds of servers, after a read with the key', async () => {
    await at.ends(`settings set --file ${await at.file('settings.json', SETTINGS)}`, {});
    const ofSettings = at.server.asked.filter(({ path }) => path === '/api/settings');
    const [read, written] = ['GET', 'POST'].map((name) =>
      ofSettings.find(({ method }) => method === name),
    );
    const { key } = at.world.service;
    expect(read?.headers).toMatchObject({
      'x-session-api-key': key,
      authorization: `Bearer ${key}`,
    });
    expect(Object.keys(SETTINGS)).toHaveLength(24);
    expect(written?.body).toEqual(SETTINGS);
  });
});

describe('the start of a V0 conversation', () => {
  const TABLE = [
    'repository',
    'git_provider',
    'selected_branch',
    'initial_user_msg',
    'image_urls',
    'replay_json',
    'suggested_task',
    'create_microagent',
    'conversation_instructions',
    'mcp_config',
    'conversation_id',
  ];
  const at = useRequestWorld();

  it('all 11 members are sent as given', async () => {
    const id = 'ab12'.repeat(8);
    const plain = await at.startOf(
      'v0',
      ...[
        'look at this',
        '--repo',
        at.repository,
        '--branch',
        'main',
        '--id',
        id,
        '--replay',
        'demo',
      ],
      ...['--image', 'https://acs.example/cat.png', '--mcp-config', await at.file('mcp.json', MCP)],
      ...['--instructions', await at.file('instructions.md', 'Be brief.')],
    );
    expect(plain).toEqual({
      initial_user_msg: 'look at this',
      repository: at.repository,
      selected_branch: 'main',
      image_urls: ['https://acs.example/cat.png'],
      replay_json: 'demo',
      conversation_instructions: 'Be brief.',
      mcp_config: MCP,
      conversation_id: id,
    });
    const task = await at.file('task.json', { suggested_task: SUGGESTED_TASK });
    const suggested = await at.startOf('v0', '--body', task, '--no-repo');
    expect(suggested).toEqual({ suggested_task: SUGGESTED_TASK });
    const microagent = await at.startOf(
      'v0',
      ...[
        'learn it',
        '--body',
        await at.file('microagent.json', { create_microagent: MICROAGENT }),
      ],
      ...['--repo', 'acme/shop', '--git-provider', 'gitlab', '--branch', 'main'],
    );
    expect(microagent).toEqual({
      initial_user_msg: 'learn it',
      create_microagent: MICROAGENT,
      repository: 'acme/shop',
      git_provider: 'gitlab',
      selected_branch: 'main',
    });
    const bodies = [plain, suggested, microagent];
    expect(unseen(TABLE, bodies)).toEqual([]);
    expect(bodies.flatMap(Object.keys).filter((name) => !TABLE.includes(name))).toEqual([]);
  });
});
