import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { createV1World, ID, OTHER_ID, type V1World } from '../support/v1-world.ts';

const SEARCH = '/api/v1/app-conversations/start-tasks/search';
const REQUEST = { selected_repository: 'acme/shop', selected_branch: 'next', git_provider: 'github' };

let world: V1World;
let server: Server;

beforeEach(async () => {
  world = await createV1World();
  server = await connectTo(world.fake.url);
});

afterEach(async () => {
  await server.close();
  await world.close();
});

/** As the webhook leaves it: without anything of the start, its notes included. */
function addLost(id = ID, members: Record<string, unknown> = {}): void {
  world.addConversation({ id, tags: {}, ...members });
}

function addTask(id = ID, request: Record<string, unknown> = REQUEST): void {
  world.tasks.set(id, { id, status: 'READY', app_conversation_id: id, request });
}

const searches = (): URLSearchParams[] =>
  world.fake.asked.filter(({ path }) => path === SEARCH).map(({ query }) => query);

describe('a record that lost its repository', () => {
  it('shows the repository of its start task, which is looked up once', async () => {
    addLost();
    addTask();
    const expected = { repository: 'acme/shop', branch: 'next', git_provider: 'github' };
    expect(await server.conversations.get(ID)).toMatchObject(expected);
    expect(await server.conversations.getComplete(ID)).toMatchObject(expected);
    expect(searches().map((query) => query.get('conversation_id__eq'))).toEqual([ID]);
  });

  it('is selected by that repository in lists, and shown with its sandbox', async () => {
    addLost(ID);
    addLost(OTHER_ID, { created_at: '2026-11-21T11:00:00.000000Z' });
    addTask(ID);
    addTask(OTHER_ID, { selected_repository: null });
    const { items } = await server.conversations.list({}, null);
    expect(Object.fromEntries(items.map(({ id, repository }) => [id, repository]))).toEqual({
      [ID]: 'acme/shop',
      [OTHER_ID]: null,
    });
    expect(searches().map((query) => query.get('created_at__gte'))).toEqual(['2026-11-21T09:42:30.053Z']);
    world.before = ({ path }) =>
      path === '/api/v1/sandboxes' ? { json: [{ id: 'sb1', status: 'RUNNING', sandbox_spec_id: null }] } : null;
    expect((await server.sandboxes.get('sb1')).repositories).toEqual(['acme/shop']);
    expect(searches()).toHaveLength(1);
  });

  it('is found in lists although its record was recreated long after the start', async () => {
    addLost(ID);
    addLost(OTHER_ID);
    addTask(ID);
    world.before = ({ path, query }) =>
      path === SEARCH && query.has('created_at__gte') ? { json: { items: [], next_page_id: null } } : null;
    const { items } = await server.conversations.list({}, null);
    expect(items.map(({ repository }) => repository).sort()).toEqual(['acme/shop', null]);
    expect(searches().map((query) => query.get('conversation_id__eq'))).toEqual([null, OTHER_ID, ID]);
  });

  it('is searched among the start tasks up to its creation, oldest first', async () => {
    addLost(ID);
    addLost(OTHER_ID);
    const later = { id: 'later', status: 'READY', request: {}, created_at: '2026-11-21T10:12:31' };
    world.before = ({ path, query }) =>
      path === SEARCH && query.has('created_at__gte') ? { json: { items: [later], next_page_id: '1' } } : null;
    await server.conversations.list({}, null);
    expect(searches().map((query) => query.get('sort_order'))).toEqual(['CREATED_AT', null, null]);
  });

  it('is looked up by its id a limited number of times per command, because long lists would take minutes', async () => {
    for (const page of ['a', 'b', 'c', 'd', 'e']) {
      world.conversations.clear();
      for (let count = 0; count < 12; count++) addLost(count.toString(16).padEnd(32, page));
      await server.conversations.list({}, null);
    }
    expect(searches().filter((query) => query.has('conversation_id__eq'))).toHaveLength(30);
  });

  it('stays without a repository when its start had none, or its start task is gone', async () => {
    addLost(ID);
    addTask(ID, { selected_repository: null, selected_branch: 'next' });
    expect(await server.conversations.get(ID)).toMatchObject({ repository: null, branch: null });
    addLost(OTHER_ID, { tags: [] }); // none that are known: what is in there is no matter of the record
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({ repository: null });
  });

  it('is not confused with another one when the server ignores the filter', async () => {
    addLost(ID);
    addTask(OTHER_ID);
    expect(await server.conversations.get(ID)).toMatchObject({ repository: null });
  });

  it('is returned without a repository when start tasks cannot be read', async () => {
    addLost();
    world.before = ({ path }) =>
      path === SEARCH ? { status: 500, type: 'text/plain', text: 'Internal Server Error' } : null;
    expect(await server.conversations.get(ID)).toMatchObject({ id: ID, repository: null });
  });
});

describe('a record that lost nothing', () => {
  it('is returned as it is, with or without a repository', async () => {
    world.addConversation();
    world.addConversation({ id: OTHER_ID, tags: {}, selected_repository: 'acme/other' });
    addTask(ID);
    addTask(OTHER_ID);
    expect(await server.conversations.get(ID)).toMatchObject({ repository: null });
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({ repository: 'acme/other', branch: null });
    expect(searches()).toEqual([]);
  });
});
