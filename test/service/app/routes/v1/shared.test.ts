import { beforeAll, describe, expect, it } from 'vitest';
import { appOfSuite, startedTask, until } from '../../support.ts';

const app = appOfSuite();
/** A conversation that its user made public, and one that is not public. */
let ids: { open: string; closed: string };

const UNKNOWN = 'f'.repeat(32);

async function finishedConversation(): Promise<string> {
  const task = await startedTask(app, { replay_json: 'demo' });
  const id = task.app_conversation_id ?? '';
  await until(
    () => app.call('GET', `/api/v1/app-conversations?ids=${id}`),
    ({ body }) => (body as { execution_status: string }[])[0]?.execution_status === 'finished',
  );
  return id;
}

beforeAll(async () => {
  ids = { open: await finishedConversation(), closed: await finishedConversation() };
  await app.call('PATCH', `/api/v1/app-conversations/${ids.open}`, { public: true, title: 'For all' });
});

interface Event {
  id: string;
  kind: string;
}
interface Page {
  items: Event[];
  next_page_id: string | null;
}

const ask = (path: string) => app.call('GET', path, undefined, {});
const page = async (path: string): Promise<Page> => (await ask(path)).body as Page;
const own = async (id: string): Promise<Event[]> =>
  ((await app.call('GET', `/api/v1/conversation/${id}/events/search`)).body as Page).items;

describe('a public conversation', () => {
  it('is read without a key, and has neither URL nor key of its sandbox', async () => {
    const { status, body } = await ask(`/api/shared-conversations?ids=${ids.open}`);
    expect(status).toBe(200);
    const [record] = body as Record<string, unknown>[];
    expect(record).toMatchObject({ id: ids.open, title: 'For all', created_by_user_id: null });
    expect(Object.keys(record ?? {}).sort()).toEqual([
      'created_at',
      'created_by_user_id',
      'git_provider',
      'id',
      'llm_model',
      'metrics',
      'parent_conversation_id',
      'pr_number',
      'sandbox_id',
      'selected_branch',
      'selected_repository',
      'sub_conversation_ids',
      'title',
      'updated_at',
    ]);
  });

  it('is answered like an unknown one when it is not public', async () => {
    const query = [ids.closed, UNKNOWN, ids.open].map((id) => `ids=${id}`).join('&');
    expect((await ask(`/api/shared-conversations?${query}`)).body).toMatchObject([null, null, { id: ids.open }]);
    expect(await ask('/api/shared-conversations?ids=none')).toMatchObject({ status: 400 });
    expect(await ask('/api/shared-conversations')).toMatchObject({ status: 422 });
  });

  it.each([
    ['/srv/projects/hello', null],
    ['file:///srv/projects/hello', null],
    ['https://demo:password@git.example/hello.git', 'https://git.example/hello.git'],
    ['demo/hello', 'demo/hello'],
  ])('whose repository is %s names %s: no folder of this machine, no password', async (given, shown) => {
    await app.call('PATCH', `/api/v1/app-conversations/${ids.open}`, { selected_repository: given });
    const { body } = await ask(`/api/shared-conversations?ids=${ids.open}`);
    expect(body).toMatchObject([{ selected_repository: shown }]);
  });

  it('does not open any other route: they require the key', async () => {
    for (const path of [
      `/api/v1/app-conversations?ids=${ids.open}`,
      `/api/v1/conversation/${ids.open}/events/search`,
      `/api/v1/app-conversations/${ids.open}/file`,
    ]) {
      expect([path, (await ask(path)).status]).toEqual([path, 401]);
    }
  });

  it('is made private again by the same member', async () => {
    const id = await finishedConversation();
    const at = `/api/v1/app-conversations/${id}`;
    await app.call('PATCH', at, { public: true });
    expect((await page(`/api/shared-events/search?conversation_id=${id}`)).items.length).toBeGreaterThan(0);
    await app.call('PATCH', at, { public: false });
    expect((await ask(`/api/shared-conversations?ids=${id}`)).body).toEqual([null]);
    expect(await page(`/api/shared-events/search?conversation_id=${id}`)).toEqual({ items: [], next_page_id: null });
  });
});

describe('the events of a public conversation', () => {
  it('are searched and paged without state updates', async () => {
    const all = await own(ids.open);
    const expected = all.filter(({ kind }) => kind !== 'ConversationStateUpdateEvent');
    expect(expected.length).toBeGreaterThan(1);
    expect(expected.length).toBeLessThan(all.length);
    const search = `/api/shared-events/search?conversation_id=${ids.open}`;
    expect(await page(search)).toEqual({ items: expected, next_page_id: null });
    const first = await page(`${search}&limit=1`);
    const second = await page(`${search}&limit=1&page_id=${first.next_page_id ?? ''}`);
    expect([...first.items, ...second.items]).toEqual(expected.slice(0, 2));
    expect((await page(`${search}&sort_order=TIMESTAMP_DESC&limit=1`)).items).toEqual(expected.slice(-1));
    const messages = expected.filter(({ kind }) => kind === 'MessageEvent');
    expect((await page(`${search}&kind__eq=MessageEvent`)).items).toEqual(messages);
    expect((await page(`${search}&kind__eq=ConversationStateUpdateEvent`)).items).toEqual([]);
  });

  it('are empty for a conversation that is not public, as for one that does not exist', async () => {
    for (const id of [ids.closed, UNKNOWN]) {
      const whose = `conversation_id=${id}`;
      expect(await page(`/api/shared-events/search?${whose}`)).toEqual({ items: [], next_page_id: null });
    }
  });

  it('require the id of the conversation', async () => {
    expect(await ask('/api/shared-events/search')).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['query', 'conversation_id'] }] },
    });
    expect((await ask('/api/shared-events/search?conversation_id=none')).status).toBe(422);
  });
});
