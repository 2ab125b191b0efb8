import { describe, expect, it } from 'vitest';
import { useV1 } from '../../support/use-scripted.ts';
import { event, finish, ID, OTHER_ID, status, userMessage } from '../support/v1-server.ts';

const at = useV1();
const RECORD = `/api/v1/app-conversations/${ID}`;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const task = (members: Record<string, unknown>) => ({
  id: OTHER_ID,
  app_conversation_id: null,
  ...members,
});
const shows = (id: string, out: object) => at.ends(`conv show ${id} --json`, { out });

it('conv list has each record in the words of acs', async () => {
  at.v1.addConversation();
  const { items } = await at.json<{ items: unknown[] }>('conv list');
  expect(items).toEqual([
    {
      id: ID,
      start_task_id: null,
      title: 'A title',
      status: 'running',
      reason: null,
      waiting_for: null,
      dialect: 'v1',
      execution_status: 'running',
      sandbox_id: 'sb1',
      sandbox_status: 'running',
      repository: null,
      branch: null,
      git_provider: null,
      model: 'openai/gpt-4o',
      created_at: '2026-11-21T10:12:30.053480Z',
      updated_at: '2026-11-21T10:12:39.352171Z',
      cost_usd: null,
      tokens: null,
      url: `${at.server.url}/conversations/${ID}`,
    },
  ]);
});

describe('conv show', () => {
  it('takes the id of the start task of a conversation', async () => {
    at.v1.addConversation();
    at.v1.tasks.set(OTHER_ID, task({ status: 'READY', app_conversation_id: ID }));
    await shows(OTHER_ID, { id: ID, start_task_id: OTHER_ID, status: 'running' });
  });

  it.each([
    [
      'in progress',
      { status: 'PREPARING_REPOSITORY', request: { selected_repository: 'a/b' } },
      { status: 'starting', repository: 'a/b' },
    ],
    [
      'that failed',
      { status: 'ERROR', detail: 'the clone failed', app_conversation_id: ID },
      { status: 'failed', reason: { code: 'start-failed', text: 'the clone failed' } },
    ],
  ])('takes the id of a start %s', async (_, members, out) => {
    at.v1.tasks.set(OTHER_ID, task(members));
    await shows(OTHER_ID, { start_task_id: OTHER_ID, ...out });
  });

  it('finds a start by the id that it has chosen, and the conversation once it exists', async () => {
    const request = { conversation_id: '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9' };
    at.v1.tasks.set(
      OTHER_ID,
      task({ status: 'WORKING', request, created_at: ago(0), updated_at: ago(0) }),
    );
    await shows(ID, { start_task_id: OTHER_ID, status: 'starting' });
    at.v1.addConversation();
    await shows(ID, { id: ID, status: 'running' });
  });

  it.each([
    ['that may still end', 0, { status: 'starting' }],
    ['that has made no progress for minutes', 300_000, { id: ID, status: 'running' }],
  ])('of a start task %s', async (_, ageMs, out) => {
    const times = { created_at: ago(ageMs), updated_at: ago(ageMs) };
    at.v1.addConversation();
    at.v1.tasks.set(
      OTHER_ID,
      task({ status: 'WAITING_FOR_SANDBOX', request: { conversation_id: ID }, ...times }),
    );
    await shows(OTHER_ID, { start_task_id: OTHER_ID, ...out });
  });

  it.each([['RUNNING'], ['ERROR']])(
    'reads a status again that a busy sandbox in %s lacks for a moment',
    async (word) => {
      const record = at.v1.addConversation({ execution_status: null, sandbox_status: word });
      let looks = 0;
      at.v1.before = ({ path }) => {
        if (path === '/api/v1/app-conversations' && ++looks === 4)
          Object.assign(record, { execution_status: 'running', sandbox_status: 'RUNNING' });
        return null;
      };
      await shows(ID, { status: 'running' });
    },
  );

  it('has the end of the newest run where the sandbox is gone', async () => {
    const gone = {
      sandbox_status: 'MISSING',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    };
    at.v1.addConversation(gone);
    at.v1.appEvents.push(status('running'), finish('done'), status('finished'));
    await shows(ID, { status: 'finished' });
    at.v1.appEvents.push(status('running'));
    await shows(ID, { status: 'archived' });
  });

  it('reads the reason of a failure from the sandbox', async () => {
    at.v1.addConversation({ execution_status: 'error' });
    const reason = { code: 'LLMAuthenticationError', detail: 'the key is wrong' };
    at.v1.agentEvents.push(
      userMessage('go'),
      event('ConversationErrorEvent', reason),
      status('error'),
    );
    await shows(ID, { status: 'failed', reason: { code: reason.code, text: reason.detail } });
  });
});

at.rows({
  'an id that nothing has exits 5': { acs: `conv show ${'f'.repeat(32)}`, code: 5 },
  'an answer of another shape exits 9': {
    server: { 'GET /api/v1/app-conversations/search': { json: [{ conversation: 1 }] } },
    acs: 'conv list',
    code: 9,
    err: 'unexpected response: conversations is not an object',
  },
  'a deletion of an unknown conversation exits 5': {
    server: { [`DELETE ${RECORD}`]: { status: 404, json: { detail: 'unknown' } } },
    acs: `conv delete ${ID} -y`,
    code: 5,
  },
  'whoami has no user where users/me is 500, as on 1.6.0 before settings are stored': {
    server: {
      'GET /api/v1/users/me': { status: 500, type: 'text/plain', text: 'Internal Server Error' },
    },
    acs: 'whoami --json',
    out: { user: null, email: null },
  },
  'specs list names the first spec as the default': {
    acs: 'specs list --json',
    out: {
      items: [
        { id: 'image', default: true },
        { id: 'other', default: false },
      ],
    },
  },
  'specs list exits 12 where the server lacks the route': {
    server: { 'GET /api/v1/sandbox-specs/search': { status: 404, json: { detail: 'Not Found' } } },
    acs: 'specs list',
    code: 12,
  },
});

it('a sandbox has no conversations of other sandboxes where the server ignores the filter', async () => {
  const one = { ...at.v1.addConversation(), id: '1'.repeat(32), sandbox_id: 'one' };
  const other = { ...at.v1.addConversation(), sandbox_id: 'other' };
  at.v1.addSandbox('other');
  at.script({
    'GET /api/v1/app-conversations/search': { json: { items: [one, other], next_page_id: null } },
  });
  await at.ends('sandbox show other --json', { out: { conversation_ids: [ID] } });
});
