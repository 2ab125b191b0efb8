/** The events of a conversation (interface section 7.1), read from its log: they outlive sandbox and worker. */
import type { Context } from 'hono';
import { toHexId } from '../../../../protocol/detail.ts';
import { eventCountQuery, eventSearchQuery } from '../../../../protocol/v1/requests.ts';
import type { EventFilter, EventLog } from '../../../storage/event-log.ts';
import { json, pathId, readQuery, readQueryList, refuse } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { findConversation } from './known.ts';
import type { Route } from '../../route.ts';

/** Reads from the log of the conversation that a request is about; null: there is nothing to read. */
export type ReadLog = <Result>(work: (log: EventLog) => Result) => Result | null;

export function eventRoutes(context: AppContext): Route[] {
  const at = (path: string): string => `/api/v1/conversation/{conversation_id}/events${path}`;
  const reader = (c: Context): ReadLog => {
    const row = findConversation(context, pathId(c));
    return (work) => (row === null ? null : context.logs.read(row, work));
  };
  return [
    {
      method: 'GET',
      path: at('/search'),
      handle: (c) => {
        const query = readQuery(c, eventSearchQuery);
        return searchEvents(reader(c), query, filterOf(query));
      },
    },
    {
      method: 'GET',
      path: at('/count'),
      handle: (c) => {
        const filter = filterOf(readQuery(c, eventCountQuery));
        return json(reader(c)((log) => log.count(filter)) ?? 0);
      },
    },
    {
      method: 'GET',
      path: at(''),
      handle: (c) => {
        const given = eventIdsOf(c);
        return json(reader(c)((log) => log.get(given)) ?? given.map(() => null));
      },
    },
  ];
}

interface Page {
  limit: number;
  page_id?: string;
  sort_order: 'TIMESTAMP' | 'TIMESTAMP_DESC';
}

/** The page of events that a query asks for; empty where there is nothing to read. */
export function searchEvents(read: ReadLog, query: Page, filter: EventFilter): Response {
  const order = query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
  const offset = offsetIn(query.page_id);
  const page = read((log) => log.search({ ...filter, limit: query.limit, offset, order }));
  const next = page?.next ?? null;
  return json({ items: page?.items ?? [], next_page_id: next === null ? null : String(next.offset) });
}

/** The ids of the query. Refuses with 400 too many, and what is no id. */
export function eventIdsOf(c: Context): string[] {
  const given = readQueryList(c, 'id');
  if (given.length > 100) throw refuse(400, `Cannot request more than 100 events at once, got ${given.length}`);
  if (given.some((id) => toHexId(id) === null)) throw refuse(400, 'Invalid event ID format');
  return given;
}

function offsetIn(pageId: string | undefined): number {
  if (pageId === undefined) return 0;
  if (!/^\d{1,12}$/.test(pageId)) throw refuse(400, 'Invalid page_id');
  return Number(pageId);
}

/** Times of events have no zone; they are UTC, and compared as text. */
export function filterOf(query: { kind__eq?: string; timestamp__gte?: string; timestamp__lt?: string }): EventFilter {
  const naive = (stamp: string): string => stamp.replace(/Z$/, '');
  return {
    ...(query.kind__eq === undefined ? {} : { kind: query.kind__eq }),
    ...(query.timestamp__gte === undefined ? {} : { gte: naive(query.timestamp__gte) }),
    ...(query.timestamp__lt === undefined ? {} : { lt: naive(query.timestamp__lt) }),
  };
}
