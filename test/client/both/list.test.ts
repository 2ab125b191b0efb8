/** The server speaks both dialects, in the shapes of 1.6.0. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListQuery, Server } from '../../../src/client/shared/server.ts';
import { connectTo, failure } from '../support/client.ts';
import {
  NOT_FOUND,
  startFake,
  type Asked,
  type FakeServer,
  type Reply,
} from '../../support/server.ts';
import { recordings } from '../support/v1-server.ts';

const older = recordings('1.6.0');

const [OF_V1] = (
  recordings('1.11.0').body('conv.search.limit2') as { items: Record<string, unknown>[] }
).items;

const [OF_V0] = (older.body('v0.many.list') as { results: Record<string, unknown>[] }).results;

interface Kept {
  id: string;
  minute: number;
}

interface Conversations {
  /** The conversations of V1. */
  newer: Kept[];
  /** The conversations of V0. */
  old: Kept[];
  /** Called before the routes. */
  before: (asked: Asked) => Reply | null;
  /** False: a release from before the word. */
  saysVersions: boolean;
}

let fake: FakeServer;
let server: Server;
let both: Conversations;
beforeEach(async () => {
  both = { newer: [], old: [], before: () => null, saysVersions: true };
  fake = await startFake((asked) => both.before(asked) ?? answer(both, asked));
  server = await connectTo(fake.url);
  fake.asked.length = 0;
});
afterEach(async () => {
  await server.close();
  await fake.close();
});

const idOf = (kind: 'a' | 'b', number: number): string =>
  kind + number.toString(16).padStart(31, '0');

const timeOf = ({ minute }: Kept): string =>
  new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString();

const newestFirst = (kept: Kept[]): Kept[] =>
  kept.toSorted((one, other) => other.minute - one.minute);

const v1Record = (kept: Kept) => ({
  ...OF_V1,
  sandbox_id: 'sandbox-1',
  id: kept.id,
  created_at: timeOf(kept),
});

/** The version is null where the server does not say it. */
const v0Record = (kept: Kept, version: 'V0' | 'V1' | null) => ({
  ...OF_V0,
  conversation_id: kept.id,
  created_at: timeOf(kept),
  conversation_version: version,
});

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString();

function answer(kept: Conversations, { path, query }: Asked): Reply {
  if (path === '/openapi.json') return older.reply('probe.openapi');
  if (path === '/api/v1/app-conversations/count') return { json: kept.newer.length };
  const limit = Number(query.get('limit') ?? 20);
  if (path === '/api/v1/app-conversations/search') {
    const page = pageOf(newestFirst(kept.newer), Number(query.get('page_id') ?? 0), limit);
    return { json: { items: page.items.map(v1Record), next_page_id: page.next } };
  }
  if (path === '/api/conversations') return { json: mixedPage(kept, query.get('page_id'), limit) };
  return NOT_FOUND;
}

function pageOf(
  all: Kept[],
  offset: number,
  limit: number,
): { items: Kept[]; next: string | null } {
  return {
    items: all.slice(offset, offset + limit),
    next: offset + limit < all.length ? String(offset + limit) : null,
  };
}

/**
 * As 1.6.0 does it: a page of each, mixed and cut; the next page continues after both; null begins
 * anew.
 */
function mixedPage(
  { newer, old, saysVersions }: Conversations,
  pageId: string | null,
  limit: number,
): unknown {
  const position = (pageId === null ? {} : JSON.parse(fromBase64(pageId))) as {
    v0?: string | null;
    v1?: string | null;
  };
  const v0 = pageOf(
    newestFirst(old),
    position.v0 == null ? 0 : Number(fromBase64(position.v0)),
    limit,
  );
  const v1 = pageOf(newestFirst(newer), Number(position.v1 ?? 0), limit);
  const mixed = [
    ...v0.items.map((one) => v0Record(one, saysVersions ? 'V0' : null)),
    ...v1.items.map((one) => v0Record(one, saysVersions ? 'V1' : null)),
  ];
  const next = { v0: v0.next === null ? null : inBase64(v0.next), v1: v1.next };
  return {
    results: mixed
      .sort((one, other) => other.created_at.localeCompare(one.created_at))
      .slice(0, limit),
    next_page_id: next.v0 === null && next.v1 === null ? null : inBase64(JSON.stringify(next)),
  };
}

async function listed(query: ListQuery = {}): Promise<string[]> {
  const ids: string[] = [];
  let page: string | null = null;
  do {
    const found = await server.conversations.list(query, page);
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
    const { items, next } = await server.conversations.list({ pageSize: 31 }, null);
    expect([items.length, items[0]?.id, next === null]).toEqual([31, idOf('a', 1), false]);
    expect(fake.lines().sort()).toEqual([
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
    expect(fake.lines()).toEqual(['GET /api/v1/app-conversations/search']);
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
