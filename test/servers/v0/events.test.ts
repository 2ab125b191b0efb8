import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachEvent } from '../../../src/domain/event.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../support/fake-server.ts';
import { recordings } from '../support/recordings.ts';

const older = recordings('1.6.0');

const ID = 'c3722f6b04ea4a4b8883a7dd7563356d';

let fake: FakeServer;

let server: Server;

let record: Record<string, unknown> | null;

let events: Record<string, unknown>[];

/** Asked before the routes. */
let before: (asked: Asked) => Reply | null;

beforeEach(async () => {
  record = {
    ...(older.body('v0.error.401.record') as Record<string, unknown>),
    conversation_id: ID,
    url: `/api/conversations/${ID}`,
  };
  events = (older.body('v0.events') as { events: Record<string, unknown>[] }).events;
  before = () => null;
  fake = await startFake((asked) => before(asked) ?? answer(asked));
  server = await connectTo(fake.url);
  fake.asked.length = 0;
});

afterEach(async () => {
  await server.close();
  await fake.close();
});

function answer({ method, path, query }: Asked): Reply {
  switch (`${method} ${path}`) {
    case 'GET /api/options/config':
      return older.reply('probe.options-config');
    case 'GET /api/conversations':
      return older.reply('v0.many.list');
    case `GET /api/conversations/${ID}`:
      return { json: record };
    case `GET /api/conversations/${ID}/events`: {
      const start = Number(query.get('start_id') ?? 0);
      const end = Number(query.get('end_id') ?? Infinity);
      const limit = Number(query.get('limit') ?? 20);
      const found = events.filter(({ id }) => Number(id) >= start && Number(id) <= end);
      if (query.get('reverse') === 'true') found.reverse();
      return { json: { events: found.slice(0, limit), has_more: found.length > limit } };
    }
    default:
      return NOT_FOUND;
  }
}

describe('a V0 conversation', () => {
  it('has its events read page by page, forwards and backwards', async () => {
    events = Array.from({ length: 250 }, (_, id) => ({
      id,
      timestamp: '2026-11-21T10:30:00',
      source: 'agent',
      action: 'run',
      args: { command: `echo ${id}` },
    }));
    const read = async (order: 'oldest-first' | 'newest-first'): Promise<string[]> => {
      const ids: string[] = [];
      for await (const event of eachEvent(server.conversations.eventPages(ID, { order }))) ids.push(event.id);
      return ids;
    };
    const forwards = await read('oldest-first');
    expect([forwards.length, forwards[0], forwards.at(-1)]).toEqual([250, '0', '249']);
    expect(await read('newest-first')).toEqual(forwards.toReversed());
  });
});
