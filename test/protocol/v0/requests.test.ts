import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RecordedRequest, recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type World } from '../../support/world.ts';
import { bodyOf, SUGGESTED_TASK, unseen, useRequestWorld } from '../support/request-world.ts';

const MCP = {
  sse_servers: [{ url: 'https://sse.example.org/', api_key: 'sse-key' }],
  shttp_servers: [{ url: 'https://shttp.example.org/', api_key: 'shttp-key' }],
  stdio_servers: [{ name: 'files', command: 'mcp-files', args: ['--root', '.'], env: { MODE: 'stdio-env' } }],
};

/** The 25 fields of V0 settings, each with a value that is not its default. */
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
  secrets_store: {
    provider_tokens: { github: { token: 'provider-token', host: 'git.example.org', user_id: 'user-7' } },
    custom_secrets: { DEPLOY_TOKEN: { secret: 'deploy-secret', description: 'to deploy' } },
  },
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

const requests = useRequestWorld();
const { sentBy, triedBy, file } = requests;

describe('the settings of V0', () => {
  let v0: World;
  let wire: RecordingProxy;
  beforeAll(async () => {
    v0 = await createWorld({ api: 'v0', spec: 'process' });
    wire = await recordingProxy(v0.service.url);
  });
  afterAll(async () => {
    await wire.close();
    await v0.close();
  });

  it('all 25 fields are sent as given, mcp_config with its three kinds of servers', async () => {
    await writeFile(path.join(v0.dir, 'settings.json'), JSON.stringify(SETTINGS));
    const args = ['settings', 'set', '--file', 'settings.json'];
    const { code, err } = await v0.invoke({ args, env: { ACS_BASE_URL: wire.url } });
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    const body = bodyOf(wire.requests, 'POST', '/api/settings');
    expect(Object.keys(SETTINGS)).toHaveLength(25);
    expect(unseen(Object.keys(SETTINGS), [body])).toEqual([]);
    expect(body).toEqual(SETTINGS);
  });

  it('secrets_store, which servers drop from that body, is sent to the route that accepts it', () => {
    expect(bodyOf(wire.requests, 'POST', '/api/add-git-providers')).toEqual({
      provider_tokens: SETTINGS.secrets_store.provider_tokens,
    });
    expect(bodyOf(wire.requests, 'POST', '/api/secrets')).toEqual({
      name: 'DEPLOY_TOKEN',
      value: 'deploy-secret',
      description: 'to deploy',
    });
  });

  it('are read by GET, with the key in both headers', () => {
    const read = wire.requests.find(({ method, path: route }) => method === 'GET' && route === '/api/settings');
    expect(read?.headers).toMatchObject({
      'x-session-api-key': v0.service.key,
      authorization: `Bearer ${v0.service.key}`,
    });
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
  const START = ['conv', 'new', '--api', 'v0', '--json'];

  it('all 11 members are sent as given', async () => {
    const bodies: Record<string, unknown>[] = [];
    const keep = (sent: RecordedRequest[]): Record<string, unknown> => {
      const body = bodyOf(sent, 'POST', '/api/conversations');
      bodies.push(body);
      return body;
    };
    const id = 'ab12'.repeat(8);
    const plain = keep(
      await sentBy(
        ...START,
        ...['look at this', '--repo', requests.repository, '--branch', 'main', '--id', id, '--replay', 'demo'],
        ...['--image', 'https://acs.example/cat.png', '--instructions', await file('instructions.md', 'Be brief.')],
        ...['--mcp-config', await file('mcp.json', MCP)],
      ),
    );
    expect(plain).toEqual({
      initial_user_msg: 'look at this',
      repository: requests.repository,
      selected_branch: 'main',
      image_urls: ['https://acs.example/cat.png'],
      replay_json: 'demo',
      conversation_instructions: 'Be brief.',
      mcp_config: MCP,
      conversation_id: id,
    });
    const task = await file('task.json', SUGGESTED_TASK);
    const suggested = keep(await triedBy(...START, '--suggested-task', task, '--no-repo'));
    expect(suggested).toEqual({ suggested_task: SUGGESTED_TASK });
    const microagent = keep(
      await triedBy(
        ...[...START, 'learn it', '--microagent', await file('microagent.json', MICROAGENT)],
        ...['--repo', 'acme/shop', '--git-provider', 'gitlab', '--branch', 'main'],
      ),
    );
    expect(microagent).toEqual({
      initial_user_msg: 'learn it',
      create_microagent: MICROAGENT,
      repository: 'acme/shop',
      git_provider: 'gitlab',
      selected_branch: 'main',
    });
    expect(unseen(TABLE, bodies)).toEqual([]);
    expect(bodies.flatMap(Object.keys).filter((name) => !TABLE.includes(name))).toEqual([]);
  });
});
