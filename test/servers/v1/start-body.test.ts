import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkStartMembers } from '../../../src/domain/start-members.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND, startFake, type FakeServer } from '../support/fake-server.ts';
import { newConversation } from '../support/new-conversation.ts';

let fake: FakeServer;
let server: Server;

beforeEach(async () => {
  const properties = { initial_message: {}, conversation_id: {}, agent_type: {} };
  const post = { requestBody: { content: { 'application/json': { schema: { properties } } } } };
  fake = await startFake(({ path }) => {
    if (path === '/openapi.json') return { json: { info: {}, paths: { '/api/v1/app-conversations': { post } } } };
    return path.endsWith('/count') ? { json: 0 } : NOT_FOUND;
  });
  server = await connectTo(fake.url);
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

it('a member that the document of the server does not name is unsupported, and nothing is sent', async () => {
  const request = newConversation({ members: { agent_type: 'plan', plugins: [{ source: 'github:acme/plugins' }] } });
  const start = server.conversations.start(request, { until: 'started', signal: new AbortController().signal });
  const error = await failure(start.next());
  expect([error.kind, error.message.includes('plugins'), error.message.includes('agent_type')]).toEqual([
    'unsupported',
    true,
    false,
  ]);
  expect(fake.lines().some((line) => line.startsWith('POST'))).toBe(false);
});

it.each([
  [{ agent_type: 'plan', public: false, pr_number: [], observability_metadata: {} }, null],
  [{ processors: ['x'] }, 'is wrong: processors must be a list of {"kind",…}'],
  [{ parent_conversation_id: 'abc' }, 'is wrong: parent_conversation_id must be the whole id of a conversation'],
  [{ plugins: [{ source: 's', reference: 'main' }] }, 'is wrong: plugins must be a list of'],
  [{ toString: 1 }, 'holds toString, which is none of'],
  [{ secrets: { A: 'b' } }, 'holds secrets, which is given by --secret'],
  [{ public: null }, 'is wrong: public must be true or false'],
])('the members %j are checked', (members, problem) => {
  const found = checkStartMembers(members);
  if (problem === null) expect(found).toBeNull();
  else expect(found).toContain(problem);
});
