/** A V0 server in the shapes of release 1.6.0, with one conversation that a test moves by hand. */
import { NOT_FOUND, type Asked, type Handler, type Reply } from '../../support/server.ts';
import { recordings } from './v1-server.ts';

export const older = recordings('1.6.0');
export const V0_ID = 'c3722f6b04ea4a4b8883a7dd7563356d';

export interface V0Server {
  record: Record<string, unknown>;
  events: Record<string, unknown>[];
  /** What the list shows. */
  listed: Record<string, unknown>[];
  /** Called before the routes; null: the routes answer. */
  before: (asked: Asked) => Reply | Promise<Reply> | null;
  handler: Handler;
}

export function createV0Server(): V0Server {
  const server: V0Server = {
    record: {
      ...(older.body('v0.error.401.record') as Record<string, unknown>),
      conversation_id: V0_ID,
      url: `/api/conversations/${V0_ID}`,
    },
    events: [],
    listed: [],
    before: () => null,
    handler: (asked) => server.before(asked) ?? answer(server, asked),
  };
  server.listed = [server.record];
  return server;
}

function answer({ record, events, listed }: V0Server, { method, path, query }: Asked): Reply {
  switch (`${method} ${path}`) {
    case 'GET /api/options/config':
      return older.reply('probe.options-config');
    case 'GET /api/conversations':
      return { json: { results: listed, next_page_id: null } };
    case 'POST /api/conversations':
      return {
        json: {
          status: 'ok',
          conversation_id: V0_ID,
          message: null,
          conversation_status: 'STARTING',
        },
      };
    case `GET /api/conversations/${V0_ID}`:
      return { json: record };
    case `GET /api/conversations/${V0_ID}/events`: {
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

/** Its number is its place among the events. */
export function happens(server: V0Server, members: Record<string, unknown>): void {
  const id = server.events.length;
  server.events.push({
    id,
    timestamp: `2026-11-21T10:30:${String(id % 60).padStart(2, '0')}.000000`,
    ...members,
  });
}

export function stateChanges(server: V0Server, agent_state: string, reason = ''): void {
  happens(server, {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state, reason },
  });
}

export function userSays(server: V0Server, content: string): void {
  happens(server, {
    source: 'user',
    message: content,
    action: 'message',
    args: { content, image_urls: [] },
  });
}
