import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../../src/runs/follow-source.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
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

const stateChanged = (id: number, agent_state: string, reason = ''): Record<string, unknown> => ({
  id,
  timestamp: '2026-11-21T10:30:00',
  source: 'environment',
  observation: 'agent_state_changed',
  extras: { agent_state, reason },
});

describe('a V0 conversation', () => {
  it('is followed by reading, each event once, to its end', async () => {
    const all = events;
    events = all.slice(0, 4);
    const stop = new AbortController();
    const items: FollowItem[] = [];
    for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
      items.push(item);
      if (item.type === 'state' && item.conversation.status === 'running')
        events = [...all, stateChanged(1000, 'finished')];
      if (item.type === 'state' && item.conversation.status === 'finished') break;
    }
    const ids = items.flatMap((item) => (item.type === 'event' ? [item.event.id] : []));
    expect(ids).toEqual([...all.map(({ id }) => String(id)), '1000']);
  });

  it('sends a message as a raw action, and refuses one while it is stopped', async () => {
    before = ({ method, path }) =>
      method === 'POST' && path === `/api/conversations/${ID}/events` ? { json: { success: true } } : null;
    await server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(fake.asked.at(-1)?.body).toEqual({ action: 'message', args: { content: 'go on', image_urls: [] } });
    record = { ...record, status: 'STOPPED' };
    expect((await failure(server.conversations.send(ID, { text: 'x', image_urls: [] }))).kind).toBe('conflict');
  });

  it('requests its own runtime at the host and with the key of the runtime', async () => {
    const runtime = await startFake(({ method }) => ({
      json: method === 'GET' ? { events: [], has_more: false } : { success: true },
    }));
    record = { ...record, url: `${runtime.url}/api/conversations/${ID}`, session_api_key: 'runtime-key-123456' };
    await server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(runtime.asked[0]?.headers['x-session-api-key']).toBe('runtime-key-123456');
    expect(runtime.asked[0]?.headers.authorization).toBeUndefined();
    await runtime.close();
  });
});
