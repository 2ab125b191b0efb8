import { describe, expect, it } from 'vitest';
import { appOfSuite, conversation, ended, type Shown, startedTask, until } from '../../support.ts';

const app = appOfSuite();
const { get, post } = app;

const CONVERSATIONS = '/api/v1/app-conversations';

describe('conversations', () => {
  it('are searched, counted, renamed and deleted with their sandbox', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await ended(app, id);
    expect((await conversation(app, id))?.title).toBe('Show what you can do.');
    await app.call('PATCH', `${CONVERSATIONS}/${id}`, { title: 'Renamed by hand' });
    const message = { content: [{ type: 'text', text: 'and now?' }] };
    await post(`${CONVERSATIONS}/${id}/send-message`, message);
    await until(
      () => conversation(app, id),
      (each) => each?.execution_status === 'error',
    );
    const found = await get<{ items: Shown[] }>(`${CONVERSATIONS}/search?title__contains=renamed&limit=1`);
    expect(found).toMatchObject({ items: [{ id, title: 'Renamed by hand' }], next_page_id: null });
    expect(await get(`${CONVERSATIONS}/count?title__contains=renamed`)).toBe(1);
    expect(await get(`${CONVERSATIONS}/count?created_at__lt=2020-01-01T00:00:00Z`)).toBe(0);
    expect((await app.call('PATCH', `${CONVERSATIONS}/${id}`, { selected_repository: 'nonsense' })).status).toBe(422);
    expect((await app.call('GET', `${CONVERSATIONS}/search?limit=101`)).status).toBe(422);
    expect((await app.call('GET', CONVERSATIONS)).status).toBe(422);
    expect((await app.call('GET', `${CONVERSATIONS}?ids=nope`)).status).toBe(400);
    expect((await app.call('GET', `${CONVERSATIONS}/${id}`)).status).toBe(405);
    expect((await app.call('DELETE', `${CONVERSATIONS}/${id}`)).body).toEqual({ success: true });
    expect(await conversation(app, id)).toBeNull();
    expect((await app.call('DELETE', `${CONVERSATIONS}/${id}`)).status).toBe(404);
    await until(
      () => get<unknown[]>(`/api/v1/sandboxes?id=${task.sandbox_id}`),
      ([sandbox]) => sandbox === null,
    );
  });
});
