import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { ID, OTHER_ID } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('a V1 conversation', () => {
  it('accepts the id of a failed start whose conversation was never created', async () => {
    const task = { id: OTHER_ID, status: 'ERROR', detail: 'the clone failed', app_conversation_id: ID, request: {} };
    v1.on({ 'GET /api/v1/app-conversations/start-tasks': () => ({ json: [task] }) });
    const failed = { id: '', status: 'failed', reason: { code: 'start-failed', text: 'the clone failed' } };
    expect(await v1.server.conversations.get(OTHER_ID)).toMatchObject(failed);
    expect(await v1.server.conversations.getComplete(OTHER_ID)).toMatchObject(failed);
  });

  it('lists conversations with the statuses of acs', async () => {
    v1.world.addConversation();
    const { items, next } = await v1.server.conversations.list({ pageSize: 30 }, null);
    expect(next).toBeNull();
    expect(items[0]).toEqual({
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
      url: `${v1.world.fake.url}/conversations/${ID}`,
    });
  });

  it('finds a conversation by its id in either form, and by its start task', async () => {
    v1.world.addConversation();
    v1.world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'READY', app_conversation_id: ID });
    expect((await v1.server.conversations.get('0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9')).id).toBe(ID);
    expect(await v1.server.conversations.get(OTHER_ID)).toMatchObject({ id: ID, start_task_id: OTHER_ID });
    const error = await failure(v1.server.conversations.get('f'.repeat(32)));
    expect([error.kind, error.exitCode]).toEqual(['not-found', 5]);
  });

  it('shows a start task without a conversation, in progress or failed', async () => {
    v1.world.tasks.set(OTHER_ID, {
      id: OTHER_ID,
      status: 'PREPARING_REPOSITORY',
      request: { selected_repository: 'a/b' },
    });
    expect(await v1.server.conversations.get(OTHER_ID)).toMatchObject({
      id: '',
      start_task_id: OTHER_ID,
      status: 'starting',
      repository: 'a/b',
    });
    v1.world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'ERROR', detail: 'no such repository' });
    expect(await v1.server.conversations.get(OTHER_ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'start-failed', text: 'no such repository' },
    });
  });

  it('finds a start by the chosen id of its conversation, until the conversation exists', async () => {
    const request = { conversation_id: '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9' };
    const now = new Date().toISOString();
    const task = {
      id: OTHER_ID,
      app_conversation_id: null,
      sandbox_id: null,
      request,
      created_at: now,
      updated_at: now,
    };
    v1.world.tasks.set(OTHER_ID, { ...task, status: 'WORKING' });
    expect(await v1.server.conversations.get(ID)).toMatchObject({
      id: '',
      start_task_id: OTHER_ID,
      status: 'starting',
    });
    v1.world.addConversation();
    expect(await v1.server.conversations.get(ID)).toMatchObject({ id: ID, status: 'running' });
  });

  it('finds the conversation of a start task that never ends', async () => {
    const task = { id: OTHER_ID, status: 'WAITING_FOR_SANDBOX', app_conversation_id: null, sandbox_id: null };
    const request = { conversation_id: ID };
    const now = new Date().toISOString();
    v1.world.tasks.set(OTHER_ID, { ...task, request, created_at: now, updated_at: now });
    v1.world.addConversation();
    expect(await v1.server.conversations.get(OTHER_ID)).toMatchObject({ id: '', status: 'starting' });
    const longAgo = new Date(Date.now() - 300_000).toISOString();
    v1.world.tasks.set(OTHER_ID, { ...task, request, created_at: longAgo, updated_at: longAgo });
    const found = await v1.server.conversations.get(OTHER_ID);
    expect(found).toMatchObject({ id: ID, start_task_id: OTHER_ID, status: 'running' });
  });

  it('reports an answer of another shape as a server error', async () => {
    v1.on({ 'GET /api/v1/app-conversations/search': () => ({ json: [{ conversation: 1 }] }) });
    const error = await failure(v1.server.conversations.list({}, null));
    expect([error.kind, error.message]).toEqual(['server', 'unexpected response: conversations is not an object']);
  });

  it('passes unknown statuses through', async () => {
    v1.world.addConversation({ execution_status: 'dreaming', sandbox_status: 'SHELVED', brand_new: { member: 1 } });
    expect(await v1.server.conversations.get(ID)).toMatchObject({
      status: 'unknown(dreaming)',
      sandbox_status: 'unknown(shelved)',
    });
  });

  it.each([
    ['flashes null', {}],
    ['is missing from a sandbox that is called in error, too busy to say that it is well', { sandbox_status: 'ERROR' }],
  ])('reads again while the status only %s', async (_, busy) => {
    v1.world.addConversation();
    let looks = 0;
    v1.on({
      'GET /api/v1/app-conversations': () => ({
        json: [{ ...v1.world.conversations.get(ID), ...(++looks < 4 ? { ...busy, execution_status: null } : {}) }],
      }),
    });
    expect((await v1.server.conversations.getComplete(ID)).status).toBe('running');
  });
});
