import { describe, expect, it } from 'vitest';
import { SUGGESTED_TASK, unseen, useRequestWorld } from '../support/request-world.ts';

const PARENT = 'parent_conversation_id';
const MEMBERS = {
  agent_type: 'default',
  agent_profile_id: 'profile-1',
  plugins: [
    { source: 'github:acme/plugins', ref: 'main', repo_path: 'one', parameters: { level: 3 } },
  ],
  processors: [{ kind: 'LoggingCallbackProcessor' }],
  public: true,
  pr_number: [3, 5],
  trigger: 'automation',
  observability_metadata: { team: 'shop' },
  observability_tags: ['nightly'],
  observability_span_name: 'check',
};

const at = useRequestWorld();

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

  it('every member is sent as given', async () => {
    const first = await at.startOf('v1', 'first', '--no-repo', '--replay', 'demo');
    const members = { ...MEMBERS, [PARENT]: String(first['conversation_id']) };
    const sandbox = await at.json<{ id: string }>('sandbox start');
    const whole = await at.startOf(
      'v1',
      ...[
        'look at this',
        '--repo',
        at.repository,
        '--branch',
        'main',
        '--image',
        'https://acs.example/cat.png',
      ],
      ...[
        '--instructions',
        await at.file('suffix.md', 'Be brief.'),
        '--model',
        'openai/some-model',
      ],
      ...[
        '--sandbox',
        sandbox.id,
        '--secret',
        'TOKEN',
        '--id',
        'cd34'.repeat(8),
        '--replay',
        'demo',
      ],
      ...['--body', await at.file('members.json', members), '--title', 'A title'],
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
      selected_repository: at.repository,
      selected_branch: 'main',
      secrets: { TOKEN: 'token-value' },
      replay_json: 'demo',
      ...members,
    });
    const { method, path, body } = at.server.writes().at(-1)!;
    expect([method, path, body]).toEqual([
      'PATCH',
      `/api/v1/app-conversations/${'cd34'.repeat(8)}`,
      { title: 'A title' },
    ]);
    const task = await at.file('task.json', { suggested_task: SUGGESTED_TASK });
    const suggested = await at.startOf('v1', '--body', task, '--no-repo');
    expect(suggested['suggested_task']).toEqual(SUGGESTED_TASK);
    const named = ['--repo', 'acme/shop', '--git-provider', 'forgejo', '--branch', 'next'];
    const fixing = await at.startOf('v1', 'fix it', ...named);
    expect(fixing).toMatchObject({
      selected_repository: 'acme/shop',
      selected_branch: 'next',
      git_provider: 'forgejo',
    });
    expect(unseen(TABLE, [first, whole, suggested, fixing])).toEqual([]);
  });

  it.each([
    ['a member that has a flag', { llm_model: 'x' }, '--model'],
    ['a list instead of an object', [], 'one JSON object'],
  ])('a file of members with %s is refused before anything is sent', async (_, members, err) => {
    const file = await at.file('wrong.json', members);
    await at.ends(`conv new --api v1 hi --no-repo --body ${file}`, { code: 2, err, requests: 0 });
  });

  it('members are refused over V0', async () => {
    const file = await at.file('members.json', { public: true });
    await at.ends(`conv new hi --no-repo --api v0 --body ${file}`, { code: 12, err: '--body' });
  });
});
