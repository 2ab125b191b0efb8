import { expect, it } from 'vitest';
import { checkStartMembers, MEMBER_FLAGS, START_MEMBERS } from '../../src/domain/start-members.ts';
import type { JsonValue } from '../../src/domain/settings.ts';

const ID = '0123456789abcdef0123456789abcdef';

it.each<[JsonValue]>([
  [{}],
  [{ agent_type: 'plan', public: true, pr_number: [1, 2], trigger: 'gui' }],
  [{ parent_conversation_id: ID, agent_profile_id: 'careful' }],
  [{ plugins: [{ source: 'github:a/b', ref: 'main', repo_path: null, parameters: { depth: 1 } }] }],
  [{ processors: [{ kind: 'Callback', more: 1 }], observability_tags: ['a'], observability_metadata: {} }],
])('checkStartMembers accepts %j', (members) => {
  expect(checkStartMembers(members)).toBeNull();
});

it.each<[JsonValue, string]>([
  [[], 'one JSON object'],
  [{ agent_type: 'other' }, 'agent_type'],
  [{ agent_profile_id: '' }, 'agent_profile_id'],
  [{ parent_conversation_id: ID.slice(1) }, 'parent_conversation_id'],
  [{ plugins: [{ ref: 'main' }] }, 'plugins'],
  [{ plugins: [{ source: 'a', branch: 'main' }] }, 'plugins'],
  [{ processors: [{}] }, 'processors'],
  [{ public: 'true' }, 'public'],
  [{ pr_number: [1.5] }, 'pr_number'],
  [{ trigger: 'cron' }, 'trigger'],
  [{ observability_tags: [1] }, 'observability_tags'],
  [{ toString: 1 }, 'toString'],
])('checkStartMembers names the mistake in %j', (members, named) => {
  expect(checkStartMembers(members)).toContain(named);
});

it('checkStartMembers names the flag of a member that a flag gives', () => {
  expect(START_MEMBERS.filter((name) => name in MEMBER_FLAGS)).toEqual([]);
  for (const [name, flag] of Object.entries(MEMBER_FLAGS)) expect(checkStartMembers({ [name]: 'x' })).toContain(flag);
});
