import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, startedTask, until, type TestApp } from './support.ts';

let app: TestApp;
/** One conversation of each dialect, and the start task of that of V1. */
let ids: { v0: string; v1: string; task: string };

beforeAll(async () => {
  app = await createTestApp();
  const task = await startedTask(app, { replay_json: 'demo' });
  const created = await app.call('POST', '/api/conversations', { replay_json: 'demo' });
  const v0 = (created.body as { conversation_id: string }).conversation_id;
  ids = { v0, v1: task.app_conversation_id ?? '', task: task.id };
  await until(
    () => app.call('GET', `/api/conversations/${v0}`),
    ({ body }) => (body as { status: string }).status === 'RUNNING',
  );
});
afterAll(() => app.close());

const get = async (path: string): Promise<unknown> => (await app.call('GET', path)).body;

interface Page {
  results: { conversation_id: string; conversation_version: string }[];
  next_page_id: string | null;
}

describe('V1 of a service that serves both dialects', () => {
  const path = '/api/v1/app-conversations';

  it('searches, counts and gets its own conversations only', async () => {
    const { items } = (await get(`${path}/search`)) as { items: { id: string }[] };
    expect(items.map(({ id }) => id)).toEqual([ids.v1]);
    expect(await get(`${path}/count`)).toBe(1);
    expect(await get(`${path}?ids=${ids.v0}&ids=${ids.v1}`)).toMatchObject([null, { id: ids.v1 }]);
  });

  it('has start tasks of its own only', async () => {
    const { items } = (await get(`${path}/start-tasks/search`)) as { items: { id: string }[] };
    expect(items.map(({ id }) => id)).toEqual([ids.task]);
    const [hidden] = app.store.startTasks.page({ dialect: 'V0' }, 'CREATED_AT', 1, 0);
    expect(hidden?.conversation_id).toBe(ids.v0);
    expect(await get(`${path}/start-tasks?ids=${hidden?.id ?? ''}`)).toEqual([null]);
  });

  it('has no events, files, messages or changes for a V0 conversation', async () => {
    const id = ids.v0;
    expect(await get(`/api/v1/conversation/${id}/events/search`)).toEqual({ items: [], next_page_id: null });
    expect(await get(`${path}/${id}/file`)).toBe('');
    const message = { role: 'user', content: [{ type: 'text', text: 'hi' }] };
    for (const [method, route, body] of [
      ['GET', `${path}/${id}/download`, undefined],
      ['PATCH', `${path}/${id}`, { title: 'x' }],
      ['DELETE', `${path}/${id}`, undefined],
      ['POST', `${path}/${id}/send-message`, message],
    ] as const) {
      expect([route, (await app.call(method, route, body)).status]).toEqual([route, 404]);
    }
  });

  it('refuses to start one with the id or the parent of a V0 conversation', async () => {
    const { status } = await app.call('POST', path, { replay_json: 'demo', conversation_id: ids.v0 });
    expect(status).toBe(409);
    const child = await app.call('POST', path, { replay_json: 'demo', parent_conversation_id: ids.v0 });
    expect(child.status).toBe(400);
  });
});

describe('V0 of a service that serves both dialects', () => {
  it('lists the conversations of both, newest first, and says which is of which', async () => {
    const { results } = (await get('/api/conversations')) as Page;
    expect(results.map((one) => [one.conversation_id, one.conversation_version])).toEqual([
      [ids.v0, 'V0'],
      [ids.v1, 'V1'],
    ]);
  });

  it('continues where a page ended, in either dialect, and omits no conversation', async () => {
    const { results, next_page_id } = (await get('/api/conversations?limit=1')) as Page;
    expect(JSON.parse(Buffer.from(next_page_id ?? '', 'base64').toString())).toEqual({ v0: null, v1: '0' });
    const second = (await get(`/api/conversations?limit=1&page_id=${next_page_id}`)) as Page;
    expect([...results, ...second.results].map((one) => one.conversation_id)).toEqual([ids.v0, ids.v1]);
    expect(second.next_page_id).toBeNull();
  });

  it('returns a V1 conversation, but neither its events nor its sandbox', async () => {
    const at = `/api/conversations/${ids.v1}`;
    expect(await get(at)).toMatchObject({ conversation_id: ids.v1, conversation_version: 'V1', status: 'RUNNING' });
    for (const route of ['events', 'trajectory', 'list-files']) {
      expect(await app.call('GET', `${at}/${route}`)).toMatchObject({
        status: 404,
        body: { detail: `Conversation ${ids.v1} not found` },
      });
    }
    expect((await app.call('POST', `${at}/message`, { message: 'hi' })).status).toBe(404);
    expect((await app.call('POST', `${at}/start`, {})).status).toBe(404);
    expect((await app.call('POST', `${at}/stop`)).body).toMatchObject({ message: 'Conversation was not running' });
  });

  it('renames and deletes a V1 conversation', async () => {
    const { app_conversation_id: id } = await startedTask(app, { replay_json: 'demo' });
    const at = `/api/conversations/${id ?? ''}`;
    expect((await app.call('PATCH', at, { title: 'Renamed by V0' })).body).toBe(true);
    expect(await get(`/api/v1/app-conversations?ids=${id ?? ''}`)).toMatchObject([{ title: 'Renamed by V0' }]);
    expect((await app.call('DELETE', at)).body).toBe(true);
    expect(await get(`/api/v1/app-conversations?ids=${id ?? ''}`)).toEqual([null]);
    expect((await app.call('DELETE', at)).body).toBe(false);
  });

  it('refuses to create one with the id of a V1 conversation, also while that starts', async () => {
    const create = (conversation_id: string) =>
      app.call('POST', '/api/conversations', { replay_json: 'demo', conversation_id });
    expect((await create(ids.v1)).status).toBe(409);
    const conversation_id = 'abcdef0123456789abcdef0123456789';
    const starting = app.call('POST', '/api/v1/app-conversations', { replay_json: 'demo', conversation_id });
    expect((await starting).status).toBe(200);
    expect((await create(conversation_id)).status).toBe(409);
  });

  it('names the sandbox of its own conversations when V1 can use it', async () => {
    const [sandbox] = app.store.sandboxes
      .all()
      .filter(({ id }) => id === app.store.conversations.get(ids.v0)?.sandbox_id);
    const shown = await get(`/api/conversations/${ids.v0}`);
    expect(shown).toMatchObject({ sandbox_id: null, local_sandbox_id: sandbox?.id });
  });

  it('has the status of a run of its own in the record, for lists', async () => {
    const record = await until(
      () => get(`/api/conversations/${ids.v0}`),
      (shown) => (shown as { local_agent_state: string }).local_agent_state === 'finished',
    );
    expect(record).toMatchObject({ status: 'RUNNING', conversation_version: 'V0' });
    expect(await get(`/api/conversations/${ids.v1}`)).not.toHaveProperty('local_agent_state');
  });
});
