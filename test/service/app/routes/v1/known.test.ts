import { beforeAll, describe, expect, it } from 'vitest';
import { appOfSuite, startedTask, until } from '../../support.ts';

const app = appOfSuite();
const { get } = app;
/** One conversation of each dialect, and the start task of that of V1. */
let ids: { v0: string; v1: string; task: string };

beforeAll(async () => {
  const task = await startedTask(app, { replay_json: 'demo' });
  const created = await app.call('POST', '/api/conversations', { replay_json: 'demo' });
  const v0 = (created.body as { conversation_id: string }).conversation_id;
  ids = { v0, v1: task.app_conversation_id ?? '', task: task.id };
  await until(
    () => app.call('GET', `/api/conversations/${v0}`),
    ({ body }) => (body as { status: string }).status === 'RUNNING',
  );
});

describe('V1 of a service that serves both dialects', () => {
  const path = '/api/v1/app-conversations';

  it('searches, counts and gets its own conversations only', async () => {
    const { items } = await get<{ items: { id: string }[] }>(`${path}/search`);
    expect(items.map(({ id }) => id)).toEqual([ids.v1]);
    expect(await get(`${path}/count`)).toBe(1);
    expect(await get(`${path}?ids=${ids.v0}&ids=${ids.v1}`)).toMatchObject([null, { id: ids.v1 }]);
  });

  it('has start tasks of its own only', async () => {
    const { items } = await get<{ items: { id: string }[] }>(`${path}/start-tasks/search`);
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
