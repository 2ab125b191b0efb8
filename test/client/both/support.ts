/**
 * A server that speaks both dialects, in the shapes of 1.6.0, and the port connected to it, for
 * each test anew.
 */
import { afterEach, beforeEach } from 'vitest';
import type { Server } from '../../../src/client/shared/server.ts';
import { connectTo } from '../support/client.ts';
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

export interface ConnectedBoth extends Conversations {
  readonly fake: FakeServer;
  readonly server: Server;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function connectedBoth(): ConnectedBoth {
  let fake: FakeServer;
  let server: Server;
  const fresh = (): Conversations => ({
    newer: [],
    old: [],
    before: () => null,
    saysVersions: true,
  });
  const both: ConnectedBoth = {
    ...fresh(),
    get fake() {
      return fake;
    },
    get server() {
      return server;
    },
  };
  beforeEach(async () => {
    Object.assign(both, fresh());
    fake = await startFake((asked) => both.before(asked) ?? answer(both, asked));
    server = await connectTo(fake.url);
    fake.asked.length = 0;
  });
  afterEach(async () => {
    await server.close();
    await fake.close();
  });
  return both;
}

export const idOf = (kind: 'a' | 'b', number: number): string =>
  kind + number.toString(16).padStart(31, '0');

const timeOf = ({ minute }: Kept): string =>
  new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString();

export const newestFirst = (kept: Kept[]): Kept[] =>
  kept.toSorted((one, other) => other.minute - one.minute);

export const v1Record = (kept: Kept) => ({
  ...OF_V1,
  sandbox_id: 'sandbox-1',
  id: kept.id,
  created_at: timeOf(kept),
});

/** The version is null where the server does not say it. */
export const v0Record = (kept: Kept, version: 'V0' | 'V1' | null) => ({
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
