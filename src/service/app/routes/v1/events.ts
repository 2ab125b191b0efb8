/** The events of a conversation (interface section 7.1), read from its log, which stays when the sandbox is deleted. */
import { eventSearchQuery } from '../../../../protocol/v1/requests.ts';
import type { EventFilter, EventLog } from '../../../storage/event-log.ts';
import { json, refuse } from '../../../http/answer.ts';
import { pathId, readQuery } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { findConversation } from './known.ts';

/** Reads from the log of the conversation of a request; null: no log. */
export type ReadLog = <Result>(work: (log: EventLog) => Result) => Result | null;

export function eventHandlers(context: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/v1/conversation/{conversation_id}/events/search': (c) => {
      const query = readQuery(c, eventSearchQuery);
      const filter = filterOf(query);
      const row = findConversation(context, pathId(c));
      return searchEvents((work) => (row === null ? null : context.logs.read(row, work)), query, filter);
    },
  };
}

interface Page {
  limit: number;
  page_id?: string;
  sort_order: 'TIMESTAMP' | 'TIMESTAMP_DESC';
}

/** The page of events of a query; empty without a log. */
export function searchEvents(read: ReadLog, query: Page, filter: EventFilter): Response {
  const order = query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
  const offset = offsetIn(query.page_id);
  const page = read((log) => log.search({ ...filter, limit: query.limit, offset, order }));
  const next = page?.next ?? null;
  return json({ items: page?.items ?? [], next_page_id: next === null ? null : String(next.offset) });
}

function offsetIn(pageId: string | undefined): number {
  if (pageId === undefined) return 0;
  if (!/^\d{1,12}$/.test(pageId)) throw refuse(400, 'Invalid page_id');
  return Number(pageId);
}

/** Times of events are naive, UTC, and compared as text. */
export function filterOf(query: { kind__eq?: string; timestamp__gte?: string; timestamp__lt?: string }): EventFilter {
  const naive = (stamp: string): string => stamp.replace(/Z$/, '');
  return {
    ...(query.kind__eq === undefined ? {} : { kind: query.kind__eq }),
    ...(query.timestamp__gte === undefined ? {} : { gte: naive(query.timestamp__gte) }),
    ...(query.timestamp__lt === undefined ? {} : { lt: naive(query.timestamp__lt) }),
  };
}
