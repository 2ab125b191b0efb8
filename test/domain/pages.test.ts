/** Servers whose lists have no end: the page ids change, and the items are the same. */
import { expect, it } from 'vitest';
import { allPages } from '../../src/domain/pages.ts';
import { failure } from '../client/support/client.ts';
import { ID, userMessage } from '../client/support/v1-server.ts';
import { createV0Server, happens, userSays, useV1, V0_ID } from '../support/use-scripted.ts';

const at = useV1();

// Events are read at the sandbox, and then in the app server's copy.
const LISTS = [
  ['conv events', '/events/search', ['conv', 'events', ID], 204],
  ['conv list', '/app-conversations/search', ['conv', 'list', '--all-pages'], 102],
] as const;

it.each(LISTS)(
  '%s ends with an error when page ids change over the same items',
  async (_, path, args, expected) => {
    const record = at.v1.addConversation();
    const message = userMessage('hello');
    let pages = 0;
    at.v1.before = (asked) => {
      if (!asked.path.endsWith(path)) return null;
      pages += 1;
      const items = path === '/events/search' ? [message] : [record];
      return { json: { items, next_page_id: `page-${pages}` } };
    };
    const { code, err } = await at.acs(...args);
    expect({ code, pages }, err).toEqual({ code: 9, pages: expected });
    expect(err).toContain('pages without new items');
  },
);

it('conv list ends with an error when every page is empty and names another one', async () => {
  let pages = 0;
  at.v1.before = ({ path }) =>
    path.endsWith('/app-conversations/search')
      ? { json: { items: [], next_page_id: `page-${++pages}` } }
      : null;
  const env = { ACS_RATE: '100000' };
  await at.ends('conv list --all-pages', { code: 9, err: 'pages without new items', env });
});

it('conv list reads on after a page of items that came before, as when conversations start meanwhile', async () => {
  const [first, second] = [at.v1.addConversation(), at.v1.addConversation({ id: 'a'.repeat(32) })];
  const pages = [[first], [first], [first], [second]];
  at.v1.before = ({ path, query }) => {
    if (!path.endsWith('/app-conversations/search')) return null;
    const page = Number(query.get('page_id') ?? 0);
    return { json: { items: pages[page], next_page_id: page < 3 ? String(page + 1) : null } };
  };
  await at.ends('conv list --all-pages -q', { out: `${String(first.id)}\n${String(second.id)}\n` });
});

it('conv list reads on after a page that is empty because the server filtered it', async () => {
  const record = at.v1.addConversation();
  at.v1.before = ({ path, query }) => {
    if (!path.endsWith('/app-conversations/search')) return null;
    return query.has('page_id')
      ? { json: { items: [record], next_page_id: null } }
      : { json: { items: [], next_page_id: 'second' } };
  };
  await at.ends('conv list --all-pages -q', { out: `${ID}\n` });
});

it('conv events of a V0 server that ignores start_id ends with an error instead of a part of the events', async () => {
  const server = createV0Server();
  for (let count = 0; count < 3; count++) userSays(server, `message ${count}`);
  happens(server, { source: 'agent', message: 'done', action: 'finish', args: {} });
  server.before = ({ path }) =>
    path.endsWith('/events')
      ? { json: { events: server.events.slice(0, 2), has_more: true } }
      : null;
  at.server.handler = server.handler;
  const env = { ACS_CONFIG_DIR: `${at.dir}/v0` };
  await at.ends(`conv events ${V0_ID}`, { code: 9, err: 'the list has no end', env });
});

it('pages are read lazily to the end, and a repeated page is an error', async () => {
  const asked: (string | null)[] = [];
  const itself = (item: string): string => item;
  const pages = allPages(itself, (page) => {
    asked.push(page);
    return Promise.resolve({
      items: [page ?? 'first'],
      next: page === null ? 'a' : page === 'a' ? 'b' : null,
    });
  });
  expect((await pages.next()).value).toBe('first');
  expect(asked).toEqual([null]);
  const rest: string[] = [];
  for await (const item of pages) rest.push(item);
  expect(rest).toEqual(['a', 'b']);
  const endless = async (): Promise<void> => {
    for await (const _ of allPages(itself, () => Promise.resolve({ items: [], next: 'same' })))
      continue;
  };
  expect((await failure(endless())).kind).toBe('server');
});
