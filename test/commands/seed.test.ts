/**
 * The check-off of the interface: every endpoint and every field that acs was made for, asked for by a command, and
 * looked for in what went over the wire. A row that was never seen fails: the tables below are the proof.
 *
 * Members of a V1 start that have no flag of their own come from the file of `--members`. Two are never sent: `title`,
 * which servers ignore at a start, so acs renames right after it, and `run: false` of the first message, which runs
 * whatever it says. `replay_json`, `sandbox_spec_id` and `confirmation_policy` are the local service's own.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordingProxy, type RecordedRequest, type RecordingProxy } from '../support/recording-proxy.ts';
import { createWorld, type World } from '../support/world.ts';
import { makeRepository } from './conv/support.ts';

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

const SUGGESTED_TASK = {
  git_provider: 'github',
  task_type: 'FAILING_CHECKS',
  repo: 'acme/shop',
  issue_number: 12,
  title: 'The build is red',
};
const MICROAGENT = { repo: 'acme/shop', git_provider: 'github', title: 'Know the shop' };
const PARENT = 'parent_conversation_id';
const MEMBERS = {
  agent_type: 'default',
  agent_profile_id: 'profile-1',
  plugins: [{ source: 'github:acme/plugins', ref: 'main', repo_path: 'one', parameters: { level: 3 } }],
  processors: [{ kind: 'LoggingCallbackProcessor' }],
  public: true,
  pr_number: [3, 5],
  trigger: 'automation',
  observability_metadata: { team: 'shop' },
  observability_tags: ['nightly'],
  observability_span_name: 'check',
};

let world: World;
let proxy: RecordingProxy;
let repository: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  proxy = await recordingProxy(world.service.url);
  repository = await makeRepository(path.join(world.dir, 'repository'));
});
afterAll(async () => {
  await proxy.close();
  await world.close();
});

/** Runs a command through the proxy; what it sent. */
async function sentBy(...args: string[]): Promise<RecordedRequest[]> {
  const from = proxy.requests.length;
  const env = { ACS_BASE_URL: proxy.url, TOKEN: 'token-value' };
  const { code, err } = await world.invoke({ args, env });
  expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
  return proxy.requests.slice(from);
}

/** As sentBy for a start that a server without a model refuses at once: only what was sent counts. */
async function triedBy(...args: string[]): Promise<RecordedRequest[]> {
  const from = proxy.requests.length;
  await world.invoke({ args, env: { ACS_BASE_URL: proxy.url } });
  return proxy.requests.slice(from);
}

function bodyOf(requests: RecordedRequest[], method: string, route: string): Record<string, unknown> {
  const found = requests.find((one) => one.method === method && one.path === route);
  expect([method, route, found !== undefined]).toEqual([method, route, true]);
  return found?.body as Record<string, unknown>;
}

async function file(name: string, content: unknown): Promise<string> {
  const place = path.join(world.dir, name);
  await writeFile(place, typeof content === 'string' ? content : JSON.stringify(content));
  return place;
}

/** Every member of the table that no request has held. */
function unseen(table: readonly string[], bodies: readonly Record<string, unknown>[]): string[] {
  return table.filter((name) => !bodies.some((body) => body[name] !== undefined && body[name] !== null));
}

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

  it('all 25 fields go over the wire as they were given, mcp_config with its three kinds of servers', async () => {
    await writeFile(path.join(v0.dir, 'settings.json'), JSON.stringify(SETTINGS));
    const args = ['settings', 'set', '--file', 'settings.json'];
    const { code, err } = await v0.invoke({ args, env: { ACS_BASE_URL: wire.url } });
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    const body = bodyOf(wire.requests, 'POST', '/api/settings');
    expect(Object.keys(SETTINGS)).toHaveLength(25);
    expect(unseen(Object.keys(SETTINGS), [body])).toEqual([]);
    expect(body).toEqual(SETTINGS);
  });

  it('secrets_store, which servers drop from that body, goes to where they take it', () => {
    expect(bodyOf(wire.requests, 'POST', '/api/add-git-providers')).toEqual({
      provider_tokens: SETTINGS.secrets_store.provider_tokens,
    });
    expect(bodyOf(wire.requests, 'POST', '/api/secrets')).toEqual({
      name: 'DEPLOY_TOKEN',
      value: 'deploy-secret',
      description: 'to deploy',
    });
  });

  it('are read by GET, with the key under both names', () => {
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

  it('all 11 members go over the wire as they were given', async () => {
    const bodies: Record<string, unknown>[] = [];
    const keep = (requests: RecordedRequest[]): Record<string, unknown> => {
      const body = bodyOf(requests, 'POST', '/api/conversations');
      bodies.push(body);
      return body;
    };
    const id = 'ab12'.repeat(8);
    const plain = keep(
      await sentBy(
        ...START,
        ...['look at this', '--repo', repository, '--branch', 'main', '--id', id, '--replay', 'demo'],
        ...['--image', 'https://acs.example/cat.png', '--instructions', await file('instructions.md', 'Be brief.')],
        ...['--mcp-config', await file('mcp.json', MCP)],
      ),
    );
    expect(plain).toEqual({
      initial_user_msg: 'look at this',
      repository,
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

describe('the start of a V1 conversation', () => {
  const TABLE = [
    'sandbox_id',
    'conversation_id',
    'initial_message',
    'system_message_suffix',
    'processors',
    'llm_model',
    'agent_profile_id',
    'selected_repository',
    'selected_branch',
    'git_provider',
    'suggested_task',
    'trigger',
    'pr_number',
    'parent_conversation_id',
    'agent_type',
    'public',
    'observability_metadata',
    'observability_tags',
    'observability_span_name',
    'plugins',
    'secrets',
  ];
  const ROUTE = '/api/v1/app-conversations';
  const START = ['conv', 'new', '--api', 'v1', '--json'];

  it('every member goes over the wire as it was given', async () => {
    const bodies: Record<string, unknown>[] = [];
    const keep = (requests: RecordedRequest[]): Record<string, unknown> => {
      const body = bodyOf(requests, 'POST', ROUTE);
      bodies.push(body);
      return body;
    };
    const parent = keep(await sentBy(...START, 'first', '--no-repo', '--replay', 'demo'));
    const members = { ...MEMBERS, [PARENT]: String(parent['conversation_id']) };
    const sandbox = JSON.parse((await world.acs('sandbox', 'start', '--json')).out) as { id: string };
    const whole = keep(
      await sentBy(
        ...[...START, 'look at this', '--repo', repository, '--branch', 'main'],
        ...['--image', 'https://acs.example/cat.png', '--instructions', await file('suffix.md', 'Be brief.')],
        ...['--model', 'openai/some-model', '--sandbox', sandbox.id, '--secret', 'TOKEN', '--id', 'cd34'.repeat(8)],
        ...['--members', await file('members.json', members), '--replay', 'demo', '--title', 'A title'],
      ),
    );
    expect(whole).toEqual({
      conversation_id: 'cd34cd34-cd34-cd34-cd34-cd34cd34cd34',
      sandbox_id: sandbox.id,
      initial_message: {
        role: 'user',
        run: true,
        content: [
          { type: 'text', text: 'look at this' },
          { type: 'image', image_urls: ['https://acs.example/cat.png'] },
        ],
      },
      system_message_suffix: 'Be brief.',
      llm_model: 'openai/some-model',
      selected_repository: repository,
      selected_branch: 'main',
      secrets: { TOKEN: 'token-value' },
      replay_json: 'demo',
      ...members,
    });
    const renamed = proxy.writes().at(-1);
    expect([renamed?.method, renamed?.path, renamed?.body]).toEqual([
      'PATCH',
      `${ROUTE}/${'cd34'.repeat(8)}`,
      { title: 'A title' },
    ]);
    const task = await file('task.json', SUGGESTED_TASK);
    const suggested = keep(await triedBy(...START, '--suggested-task', task, '--no-repo'));
    expect(suggested['suggested_task']).toEqual(SUGGESTED_TASK);
    const named = ['--repo', 'acme/shop', '--git-provider', 'forgejo', '--branch', 'next'];
    expect(keep(await triedBy(...START, 'fix it', ...named))).toMatchObject({
      selected_repository: 'acme/shop',
      selected_branch: 'next',
      git_provider: 'forgejo',
    });
    expect(unseen(TABLE, bodies)).toEqual([]);
  });

  it.each([
    ['a member that has a flag', { llm_model: 'x' }, '--model'],
    ['an unknown member', { agent_kind: 'x' }, 'agent_kind'],
    ['a wrong type', { pr_number: '3' }, 'a list of whole numbers'],
    ['a wrong word', { agent_type: 'planner' }, 'default or plan'],
    ['a plugin without a source', { plugins: [{ ref: 'main' }] }, 'with ref, repo_path and parameters'],
    ['a list instead of an object', [], 'one JSON object'],
  ])('a file of members with %s is refused before anything is sent', async (_what, members, word) => {
    const from = proxy.requests.length;
    const args = [...START, 'hi', '--no-repo', '--members', await file('wrong.json', members)];
    const { code, err } = await world.invoke({ args, env: { ACS_BASE_URL: proxy.url } });
    expect([code, err.includes(word)]).toEqual([2, true]);
    expect(proxy.requests.slice(from)).toEqual([]);
  });

  it('members are for V1 alone', async () => {
    const members = await file('members.json', { public: true });
    const { code, err } = await world.acs('conv', 'new', 'hi', '--no-repo', '--api', 'v0', '--members', members);
    expect([code, err.includes('--members')]).toEqual([12, true]);
  });
});

describe('every endpoint', () => {
  /** Method and path as in the interface; a query is named where the call means nothing without it. */
  const TABLE: readonly [string, RegExp][] = [
    ['GET', /^\/api\/settings$/],
    ['POST', /^\/api\/settings$/],
    ['POST', /^\/api\/conversations$/],
    ['POST', /^\/api\/v1\/app-conversations$/],
    ['GET', /^\/api\/v1\/app-conversations\?ids=[0-9a-f-]+$/],
    ['GET', /^\/api\/v1\/app-conversations\/search\?/],
    ['GET', /^\/api\/v1\/app-conversations\/start-tasks\?ids=[0-9a-f-]+$/],
    ['GET', /^\/api\/v1\/sandboxes\/search\?/],
    ['POST', /^\/api\/v1\/sandboxes\?sandbox_spec_id=process$/],
    ['POST', /^\/api\/v1\/sandboxes\/\w+\/pause$/],
    ['POST', /^\/api\/v1\/sandboxes\/\w+\/resume$/],
    ['DELETE', /^\/api\/v1\/sandboxes\/(\w+)\?sandbox_id=\1$/],
    ['GET', /^\/api\/v1\/sandbox-specs\/search(\?|$)/],
  ];

  it('is asked by the command that is for it, with the key under both names', async () => {
    const v0 = await createWorld({ api: 'v0', spec: 'process' });
    const wire = await recordingProxy(v0.service.url);
    try {
      for (const args of [
        ['settings', 'get'],
        ['settings', 'set', 'language=de'],
      ])
        expect((await v0.invoke({ args, env: { ACS_BASE_URL: wire.url } })).code).toBe(0);
      const started = await sentBy('conv', 'new', '--no-repo', '--replay', 'demo', '--wait');
      await sentBy('conv', 'new', '--no-repo', '--replay', 'demo', '--api', 'v0');
      await sentBy('conv', 'list');
      await sentBy('conv', 'show', '@last');
      await sentBy('sandbox', 'start', '--spec', 'process');
      await sentBy('sandbox', 'list');
      const { items } = JSON.parse((await world.acs('sandbox', 'list', '--json')).out) as { items: { id: string }[] };
      const id = items[0]?.id ?? '';
      for (const verb of ['pause', 'resume']) await sentBy('sandbox', verb, id);
      await sentBy('sandbox', 'delete', id, '-y');
      await sentBy('specs', 'list');
      const asked = [...wire.requests, ...proxy.requests];
      const missing = TABLE.filter(
        ([method, route]) => !asked.some((one) => one.method === method && route.test(one.path)),
      );
      expect(missing).toEqual([]);
      expect(started.length).toBeGreaterThan(0);
      for (const { headers } of proxy.requests) {
        expect(headers['x-session-api-key']).toBe(world.service.key);
        expect(headers.authorization).toBe(`Bearer ${world.service.key}`);
      }
    } finally {
      await wire.close();
      await v0.close();
    }
  });
});
