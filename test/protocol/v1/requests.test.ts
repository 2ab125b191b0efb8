import { describe, expect, it } from 'vitest';
import type { RecordedRequest } from '../../support/recording-proxy.ts';
import { bodyOf, SUGGESTED_TASK, unseen, useRequestWorld } from '../support/request-world.ts';

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

const requests = useRequestWorld();
const { sentBy, triedBy, file } = requests;

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

  it('every member is sent as given', async () => {
    const bodies: Record<string, unknown>[] = [];
    const keep = (sent: RecordedRequest[]): Record<string, unknown> => {
      const body = bodyOf(sent, 'POST', ROUTE);
      bodies.push(body);
      return body;
    };
    const parent = keep(await sentBy(...START, 'first', '--no-repo', '--replay', 'demo'));
    const members = { ...MEMBERS, [PARENT]: String(parent['conversation_id']) };
    const sandbox = JSON.parse((await requests.world.acs('sandbox', 'start', '--json')).out) as { id: string };
    const whole = keep(
      await sentBy(
        ...[...START, 'look at this', '--repo', requests.repository, '--branch', 'main'],
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
      selected_repository: requests.repository,
      selected_branch: 'main',
      secrets: { TOKEN: 'token-value' },
      replay_json: 'demo',
      ...members,
    });
    const renamed = requests.proxy.writes().at(-1);
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
    const from = requests.proxy.requests.length;
    const args = [...START, 'hi', '--no-repo', '--members', await file('wrong.json', members)];
    const { code, err } = await requests.world.invoke({ args, env: { ACS_BASE_URL: requests.proxy.url } });
    expect([code, err.includes(word)]).toEqual([2, true]);
    expect(requests.proxy.requests.slice(from)).toEqual([]);
  });

  it('members are refused over V0', async () => {
    const members = await file('members.json', { public: true });
    const args = ['conv', 'new', 'hi', '--no-repo', '--api', 'v0', '--members', members];
    const { code, err } = await requests.world.acs(...args);
    expect([code, err.includes('--members')]).toEqual([12, true]);
  });
});
