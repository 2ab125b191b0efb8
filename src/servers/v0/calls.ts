/** The reading calls of V0, one function each (interface 3.2 to 3.4). */
import { AppError } from '../../errors.ts';
import {
  readConversationInfo,
  readEventsV0,
  type ConversationInfo,
  type EventRecordV0,
} from '../../protocol/v0/records.ts';
import { readPage } from '../../protocol/shape.ts';
import { normalId, noConversation } from '../ids.ts';
import { read, type Links } from '../links.ts';
import { eachPage, type Page } from '../../domain/pages.ts';
import { SeenIds } from '../../domain/seen-ids.ts';
import type { Transport } from '../transport/transport.ts';

/** A V0 server that waits for its model answers no request for minutes (interface 12). */
export const V0_TIMEOUT_MS = 120_000;
const MOST_EVENTS = 100;

export function pathOfV0(id: string): string {
  return `/api/conversations/${encodeURIComponent(normalId(id))}`;
}

export async function listConversationsV0(
  links: Links,
  pageSize: number,
  page: string | null,
): Promise<Page<ConversationInfo>> {
  const query = { limit: Math.min(pageSize, 100), page_id: page };
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/conversations',
    query,
    safe: 'read',
    timeoutMs: V0_TIMEOUT_MS,
  });
  const found = read(answer, (body) => readPage(body, 'conversations', readConversationInfo));
  for (const info of found.items) links.network.redaction.add(info.session_api_key);
  return found;
}

/** An unknown one is 200 with null (interface 3.3), or 400 or 404. Throws `not-found`. */
export async function getConversationV0(links: Links, id: string): Promise<ConversationInfo> {
  const answer = await links.app.request({
    method: 'GET',
    path: pathOfV0(id),
    safe: 'read',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [400, 404],
  });
  if (answer.status >= 400 || answer.body === null) throw noConversation(id);
  const info = read(answer, (body) => readConversationInfo(body));
  links.network.redaction.add(info.session_api_key);
  return info;
}

/** The cause by which `isOfV1` recognises the error. */
const OF_V1 = 'conversation of V1';

export function otherDialect(id: string): AppError {
  const { kind, message, details } = noConversation(id);
  return new AppError(kind, message, { ...details, cause: OF_V1 });
}

/** Whether V0 answered that a conversation belongs to V1. */
export function isOfV1(error: AppError): boolean {
  return error.cause === OF_V1;
}

/**
 * The server that runs a conversation, and its path there. A self-hosted server runs it itself; the cloud names the
 * runtime's own host in `url`, which takes the conversation's key and not the cloud's (interface 3.4).
 */
export function runtimeOf(links: Links, info: ConversationInfo): { transport: Transport; path: string } {
  const path = pathOfV0(info.conversation_id);
  if (info.url === null || !/^https?:\/\//.test(info.url)) return { transport: links.app, path };
  const base = info.url.replace(/\/api\/conversations\/[^/]+\/?$/, '');
  const sameServer = new URL(base).origin === new URL(links.app.baseUrl).origin;
  return { transport: sameServer ? links.app : links.agent(base, info.session_api_key), path };
}

export interface EventsPageV0 {
  events: EventRecordV0[];
  has_more: boolean;
}

/** One page of events from a number on (or back from the end). They can be read while the conversation is stopped. */
export async function eventsPageV0(
  links: Links,
  info: ConversationInfo,
  query: { start?: number; end?: number; reverse: 'true' | 'false'; limit?: number },
): Promise<EventsPageV0> {
  const { transport, path } = runtimeOf(links, info);
  const answer = await transport.request({
    method: 'GET',
    path: `${path}/events`,
    query: {
      start_id: query.start,
      end_id: query.end,
      reverse: query.reverse,
      limit: Math.min(query.limit ?? MOST_EVENTS, MOST_EVENTS),
    },
    safe: 'read',
    timeoutMs: V0_TIMEOUT_MS,
    accept: [404],
  });
  if (answer.status === 404) throw noConversation(info.conversation_id);
  return read(answer, (body) => readEventsV0(body));
}

/** All events from a number on, oldest first. */
export async function* eventsForwardV0(
  links: Links,
  info: ConversationInfo,
  start: number,
): AsyncGenerator<EventRecordV0, void, void> {
  for await (const page of eventPagesForwardV0(links, info, start)) yield* page;
}

/** The same, as each request returns them. */
export function eventPagesForwardV0(
  links: Links,
  info: ConversationInfo,
  start: number,
): AsyncGenerator<EventRecordV0[], void, void> {
  const fetchPage = async (page: string | null) => {
    const first = page === null ? start : Number(page);
    const { events, has_more } = await eventsPageV0(links, info, { start: first, reverse: 'false' });
    const last = events.at(-1);
    return { items: events, next: has_more ? String(last === undefined ? first : last.id + 1) : null };
  };
  return eachPage(byNumber, fetchPage, { known: new SeenIds() });
}

/** All events, newest first. */
export async function* eventsBackwardV0(
  links: Links,
  info: ConversationInfo,
): AsyncGenerator<EventRecordV0, void, void> {
  for await (const page of eventPagesBackwardV0(links, info)) yield* page;
}

/** The same, as each request returns them. */
export function eventPagesBackwardV0(
  links: Links,
  info: ConversationInfo,
): AsyncGenerator<EventRecordV0[], void, void> {
  return eachPage(byNumber, async (page) => {
    const end = page ? Number(page) : undefined;
    const { events, has_more } = await eventsPageV0(links, info, { end, reverse: 'true' });
    const last = events.at(-1);
    const next = last === undefined ? (page ?? '') : String(last.id - 1);
    return {
      // A server may ignore `end_id`.
      items: events.filter(({ id }) => end === undefined || id <= end),
      next: has_more && last?.id !== 0 ? next : null,
    };
  });
}

function byNumber({ id }: EventRecordV0): string {
  return String(id);
}
