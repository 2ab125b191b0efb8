/** Starts that a server could not write down, because the word of their sandbox came at the same moment: they run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Conversation } from '../../../src/domain/conversation.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { newConversation } from '../support/new-conversation.ts';
import { createV1World, OTHER_ID, type V1World } from '../support/v1-world.ts';

const UNWRITTEN = '(sqlite3.IntegrityError) UNIQUE constraint failed: conversation_metadata.conversation_id';

let world: V1World;
let server: Server;
let detail: string;
/** Whether the sandbox has reported the conversation to its server. */
let isReported: boolean;

beforeEach(async () => {
  world = await createV1World();
  detail = UNWRITTEN;
  isReported = true;
  world.before = ({ method, path, query, body }) => {
    if (method === 'POST' && path === '/api/v1/app-conversations') {
      const id = String((body as { conversation_id: string }).conversation_id).replaceAll('-', '');
      if (isReported) world.addConversation({ id, tags: {} });
      const task = { id: OTHER_ID, status: 'ERROR', detail, app_conversation_id: null, request: body };
      world.tasks.set(OTHER_ID, task);
      return { json: { ...task, status: 'WORKING', detail: null } };
    }
    // As servers do it: such a task belongs to no conversation.
    return path.endsWith('/start-tasks/search') && query.has('conversation_id__eq')
      ? { json: { items: [], next_page_id: null } }
      : null;
  };
  server = await connectTo(world.fake.url);
});

afterEach(async () => {
  await server.close();
  await world.close();
});

async function start(): Promise<Conversation> {
  const request = newConversation({ repository: 'acme/shop' });
  const steps = server.conversations.start(request, { signal: new AbortController().signal, until: 'started' });
  for (;;) {
    const step = await steps.next();
    if (step.done) return step.value;
  }
}

it('the conversation is returned with its status and repository, by its own id and by the id of its start task', async () => {
  const { id, status, repository } = await start();
  expect({ status, repository }).toEqual({ status: 'running', repository: 'acme/shop' });
  expect(await server.conversations.get(OTHER_ID)).toMatchObject({ id, status: 'running', start_task_id: OTHER_ID });
});

it('the start has failed where no sandbox reports the conversation, or for another reason', async () => {
  isReported = false;
  expect((await failure(start())).kind).toBe('failed');
  expect((await server.conversations.get(OTHER_ID)).status).toBe('failed');
  isReported = true;
  detail = 'Sandbox not found: sb1';
  expect((await failure(start())).message).toContain('Sandbox not found');
  expect((await server.conversations.get(OTHER_ID)).status).toBe('failed');
});
