/** Servers whose lists have no end: the page ids change, and the items are the same. */
import { afterEach, expect, it } from 'vitest';
import { ID, userMessage } from '../servers/support/v1-world.ts';
import { createV0Server, happens, userSays, V0_ID } from '../traps/support/v0.ts';
import { fakeTrap, v1Trap, type FakeTrap, type V1Trap } from '../traps/support/trap.ts';

let trap: V1Trap | FakeTrap;
afterEach(() => trap.close());

// Events are read at the sandbox, and then in the app server's copy.
const LISTS = [
  ['conv events', '/events/search', ['conv', 'events', ID], 204],
  ['conv list', '/app-conversations/search', ['conv', 'list', '--all-pages'], 102],
] as const;

it.each(LISTS)('%s ends with an error when page ids change over the same items', async (_, path, args, expected) => {
  const world = (trap = await v1Trap());
  const record = world.addConversation();
  const message = userMessage('hello');
  let pages = 0;
  world.before = (asked) => {
    if (!asked.path.endsWith(path)) return null;
    pages += 1;
    const items = path === '/events/search' ? [message] : [record];
    return { json: { items, next_page_id: `page-${pages}` } };
  };
  const { code, err } = await world.acs(...args);
  expect({ code, pages }, err).toEqual({ code: 9, pages: expected });
  expect(err).toContain('pages without new items');
});

it('conv list ends with an error when every page is empty and names another one', async () => {
  const world = (trap = await v1Trap());
  let pages = 0;
  world.before = ({ path }) =>
    path.endsWith('/app-conversations/search') ? { json: { items: [], next_page_id: `page-${++pages}` } } : null;
  const { code, err } = await world.acs('conv', 'list', '--all-pages', '--rate', '100000');
  expect(code, err).toBe(9);
  expect(err).toContain('pages without new items');
});

it('conv list reads on after a page of items that came before, as when conversations start meanwhile', async () => {
  const world = (trap = await v1Trap());
  const [first, second] = [world.addConversation(), world.addConversation({ id: 'a'.repeat(32) })];
  const pages = [[first], [first], [first], [second]];
  world.before = ({ path, query }) => {
    if (!path.endsWith('/app-conversations/search')) return null;
    const page = Number(query.get('page_id') ?? 0);
    return { json: { items: pages[page], next_page_id: page < 3 ? String(page + 1) : null } };
  };
  const { code, out } = await world.acs('conv', 'list', '--all-pages', '-q');
  expect({ code, ids: out.trimEnd().split('\n') }).toEqual({ code: 0, ids: [first.id, second.id] });
});

it('conv list reads on after a page that is empty because the server filtered it', async () => {
  const world = (trap = await v1Trap());
  const record = world.addConversation();
  world.before = ({ path, query }) => {
    if (!path.endsWith('/app-conversations/search')) return null;
    return query.has('page_id')
      ? { json: { items: [record], next_page_id: null } }
      : { json: { items: [], next_page_id: 'second' } };
  };
  expect(await world.acs('conv', 'list', '--all-pages', '-q')).toMatchObject({ code: 0, out: `${ID}\n` });
});

it('conv events of a V0 server that ignores start_id ends with an error instead of a part of the events', async () => {
  const server = createV0Server();
  for (let count = 0; count < 3; count++) userSays(server, `message ${count}`);
  happens(server, { source: 'agent', message: 'done', action: 'finish', args: {} });
  server.before = ({ path }) =>
    path.endsWith('/events') ? { json: { events: server.events.slice(0, 2), has_more: true } } : null;
  trap = await fakeTrap(server.handler);
  const { code, err } = await trap.acs('conv', 'events', V0_ID);
  expect(code, err).toBe(9);
  expect(err).toContain('the list has no end');
});
