import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachEvent } from '../../../src/domain/event.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../support/fake-server.ts';
import { recordings } from '../support/recordings.ts';

const older = recordings('1.6.0');

const [OF_V1] = (recordings('1.11.0').body('conv.search.limit2') as { items: Record<string, unknown>[] }).items;

const [OF_V0] = (older.body('v0.many.list') as { results: Record<string, unknown>[] }).results;

interface Kept {
  id: string;
  minute: number;
}

let fake: FakeServer;

let server: Server;

let newer: Kept[];

let old: Kept[];

/** Asked before the routes. */
let before: (asked: Asked) => Reply | null;

/** False: a release from before the word. */
let saysVersions: boolean;

beforeEach(async () => {
  newer = [];
  old = [];
  before = () => null;
  saysVersions = true;
  fake = await startFake((asked) => before(asked) ?? answer(asked));
  server = await connectTo(fake.url);
  fake.asked.length = 0;
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

const idOf = (kind: 'a' | 'b', number: number): string => kind + number.toString(16).padStart(31, '0');

const timeOf = ({ minute }: Kept): string => new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString();

const newestFirst = (kept: Kept[]): Kept[] => kept.toSorted((one, other) => other.minute - one.minute);

const v1Record = (kept: Kept) => ({ ...OF_V1, id: kept.id, created_at: timeOf(kept) });

const v0Record = (kept: Kept, version: 'V0' | 'V1') => ({
  ...OF_V0,
  conversation_id: kept.id,
  created_at: timeOf(kept),
  conversation_version: saysVersions ? version : null,
});

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString();

function answer({ path, query }: Asked): Reply {
  if (path === '/openapi.json') return older.reply('probe.openapi');
  if (path === '/api/v1/app-conversations/count') return { json: newer.length };
  const limit = Number(query.get('limit') ?? 20);
  if (path === '/api/v1/app-conversations/search') {
    const page = pageOf(newestFirst(newer), Number(query.get('page_id') ?? 0), limit);
    return { json: { items: page.items.map(v1Record), next_page_id: page.next } };
  }
  if (path === '/api/conversations') return { json: mixedPage(query.get('page_id'), limit) };
  return NOT_FOUND;
}

function pageOf(all: Kept[], offset: number, limit: number): { items: Kept[]; next: string | null } {
  return {
    items: all.slice(offset, offset + limit),
    next: offset + limit < all.length ? String(offset + limit) : null,
  };
}

/** As 1.6.0 does it: a page of each, mixed and cut; the next page goes on behind both; null begins anew. */
function mixedPage(pageId: string | null, limit: number): unknown {
  const position = (pageId === null ? {} : JSON.parse(fromBase64(pageId))) as {
    v0?: string | null;
    v1?: string | null;
  };
  const v0 = pageOf(newestFirst(old), position.v0 == null ? 0 : Number(fromBase64(position.v0)), limit);
  const v1 = pageOf(newestFirst(newer), Number(position.v1 ?? 0), limit);
  const mixed = [...v0.items.map((one) => v0Record(one, 'V0')), ...v1.items.map((one) => v0Record(one, 'V1'))];
  const next = { v0: v0.next === null ? null : inBase64(v0.next), v1: v1.next };
  return {
    results: mixed.sort((one, other) => other.created_at.localeCompare(one.created_at)).slice(0, limit),
    next_page_id: next.v0 === null && next.v1 === null ? null : inBase64(JSON.stringify(next)),
  };
}

describe('one conversation of a server that speaks both dialects', () => {
  it('that neither dialect knows is not found by any command, and no change is sent', async () => {
    const id = idOf('b', 9);
    before = ({ path }) => {
      if (path === '/api/v1/app-conversations' || path === '/api/v1/app-conversations/start-tasks')
        return { json: [null] };
      // V0 answers null with 200.
      return path === `/api/conversations/${id}` ? { json: null } : null;
    };
    const { conversations } = server;
    const message = { text: 'hello', image_urls: [] };
    const asked = [
      conversations.get(id),
      conversations.getSettled(id),
      conversations.result(id),
      conversations.send(id, message),
      conversations.pending(id),
      conversations.answer(id, { decision: 'accept', reason: null, action_id: null }),
      conversations.run(id),
      conversations.stop(id),
      conversations.diff(id),
      (async () => {
        for await (const event of eachEvent(conversations.eventPages(id, {}))) expect(event).toBeUndefined();
      })(),
    ];
    const failures = await Promise.all(asked.map((promise) => failure(promise)));
    expect(failures.map(({ kind, message: text }) => [kind, text])).toEqual(
      asked.map(() => ['not-found', `there is no conversation ${id} at this server`]),
    );
    expect(fake.asked.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('is of V1 when it appears there between the read over V1 and the read over V0', async () => {
    const kept = { id: idOf('b', 1), minute: 1 };
    let looks = 0;
    before = ({ path }) => {
      if (path === '/api/v1/app-conversations') return { json: [++looks === 1 ? null : v1Record(kept)] };
      if (path === '/api/v1/app-conversations/start-tasks') return { json: [null] };
      if (path.startsWith('/api/v1/app-conversations/start-tasks/')) return { json: { items: [], next_page_id: null } };
      if (path === `/api/conversations/${kept.id}`) return { json: v0Record(kept, 'V1') };
      return path.startsWith(`/api/conversations/${kept.id}/`) ? { status: 422, json: { detail: 'no' } } : null;
    };
    expect(await server.conversations.get(kept.id)).toMatchObject({ id: kept.id, dialect: 'v1' });
    expect(await server.conversations.getSettled(kept.id)).toMatchObject({ id: kept.id, dialect: 'v1' });
  });
});
