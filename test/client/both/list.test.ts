import { describe, expect, it } from 'vitest';
import type { ListQuery } from '../../../src/client/shared/server.ts';
import { connectedBoth, idOf, newestFirst, v1Record } from './support.ts';
import { failure } from '../support/client.ts';

const both = connectedBoth();

async function listed(query: ListQuery = {}): Promise<string[]> {
  const ids: string[] = [];
  let page: string | null = null;
  do {
    const found = await both.server.conversations.list(query, page);
    ids.push(...found.items.map(({ id, dialect }) => `${dialect} ${id}`));
    page = found.next;
  } while (page !== null);
  return ids;
}

describe('the list of a server that speaks both dialects', () => {
  it('has each conversation of both once, newest first, over pages that the server cuts', async () => {
    both.newer = Array.from({ length: 23 }, (_, index) => ({
      id: idOf('b', index),
      minute: index * 2,
    }));
    both.old = Array.from({ length: 12 }, (_, index) => ({
      id: idOf('a', index),
      minute: index * 3 + 1,
    }));
    const expected = newestFirst([...both.newer, ...both.old]).map(
      ({ id }) => `${id.startsWith('a') ? 'v0' : 'v1'} ${id}`,
    );
    expect(await listed({ pageSize: 5 })).toEqual(expected);
    expect(await listed({ pageSize: 100 })).toEqual(expected);
  });

  it('reads of each dialect only the records that the page needs', async () => {
    both.newer = Array.from({ length: 250 }, (_, index) => ({
      id: idOf('b', index),
      minute: index,
    }));
    both.old = [{ id: idOf('a', 1), minute: 1000 }];
    const { items, next } = await both.server.conversations.list({ pageSize: 31 }, null);
    expect([items.length, items[0]?.id, next === null]).toEqual([31, idOf('a', 1), false]);
    expect(both.fake.lines().sort()).toEqual([
      'GET /api/conversations',
      'GET /api/v1/app-conversations/search',
    ]);
  });

  it('has each conversation once when the server does not say which are of V1', async () => {
    both.saysVersions = false;
    both.newer = [{ id: idOf('b', 1), minute: 1 }];
    both.old = [{ id: idOf('a', 2), minute: 2 }];
    // Such a server also takes no page of this form.
    both.before = ({ path, query }) =>
      path === '/api/conversations' && query.has('page_id')
        ? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
        : null;
    expect(await listed()).toEqual([`v0 ${idOf('a', 2)}`, `v1 ${idOf('b', 1)}`]);
  });

  it('reads the conversations of a sandbox over V1 alone, because V0 names none', async () => {
    both.newer = [{ id: idOf('b', 1), minute: 1 }];
    both.old = [{ id: idOf('a', 2), minute: 2 }];
    const { sandbox_id: sandboxId } = v1Record({ id: '', minute: 1 });
    expect(await listed({ sandboxId })).toEqual([`v1 ${idOf('b', 1)}`]);
    expect(both.fake.lines()).toEqual(['GET /api/v1/app-conversations/search']);
  });

  it('fails when one of the two dialects cannot be read, instead of showing half', async () => {
    both.newer = [{ id: idOf('b', 1), minute: 1 }];
    both.before = ({ path }) =>
      path === '/api/conversations'
        ? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
        : null;
    const half = await failure(listed());
    expect([half.kind, half.message]).toEqual([
      'server',
      expect.stringContaining('the list of V0 conversations fails'),
    ]);
    expect(half.details.status).toBe(500);
  });
});
