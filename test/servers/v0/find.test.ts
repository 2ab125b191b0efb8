import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  it('is listed with the statuses of acs', async () => {
    const { items, next } = await server.conversations.list({}, null);
    expect(next).toBeNull();
    expect(items.map((one) => one.status)).toEqual(['running', 'running', 'running', 'stopped', 'stopped']);
    expect(items[0]).toMatchObject({
      id: '5cd7192ff2e443128168ffd09410384c',
      dialect: 'v0',
      execution_status: null,
      sandbox_id: null,
    });
  });

  it('has the status of its newest agent state, which alone reports failures', async () => {
    events = (older.body('v0.error.401.tail') as { events: Record<string, unknown>[] }).events.toReversed();
    expect(await server.conversations.get(ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'ERROR_LLM_AUTHENTICATION', text: 'error llm authentication' },
    });
  });

  it('is finished when the agent has answered and waits for the user, idle before that', async () => {
    const last = events.length;
    events = [
      { id: 0, source: 'user', action: 'message', args: { content: 'hi' } },
      stateChanged(1, 'awaiting_user_input'),
    ];
    expect((await server.conversations.get(ID)).status).toBe('idle');
    events.splice(1, 0, { id: 1, source: 'agent', action: 'message', args: { content: 'hello' } });
    events[2] = stateChanged(2, 'awaiting_user_input');
    expect((await server.conversations.get(ID)).status).toBe('finished');
    expect(last).toBeGreaterThan(0);
  });

  it('stays finished after it was stopped', async () => {
    record = { ...record, status: 'STOPPED' };
    events = [stateChanged(0, 'running'), stateChanged(1, 'finished'), stateChanged(2, 'stopped')];
    expect((await server.conversations.get(ID)).status).toBe('finished');
    events = [stateChanged(0, 'running'), stateChanged(1, 'stopped')];
    expect((await server.conversations.get(ID)).status).toBe('stopped');
  });

  it('is not found where the server answers null, or 404', async () => {
    record = null;
    expect((await failure(server.conversations.get(ID))).kind).toBe('not-found');
    before = ({ path }) => (path.endsWith(ID) ? NOT_FOUND : null);
    expect((await failure(server.conversations.get(ID))).kind).toBe('not-found');
  });
});
