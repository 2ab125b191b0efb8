/** The reading calls of V1, one function each (interface 4.3, 5.3, 6, 7.1). */
import { AppError, isAppError } from '../../errors.ts';
import {
  readAppConversation,
  readEvent,
  readSandbox,
  type AppConversationRecord,
  type EventRecord,
  type SandboxRecord,
} from '../../protocol/v1/records.ts';
import { readBatch, readPage } from '../../protocol/shape.ts';
import { isUuid, normalId, noConversation } from '../ids.ts';
import { ofSandbox } from '../quirks/ignored-sandbox-filter.ts';
import { read, type Links } from '../links.ts';
import type { Page } from '../../domain/pages.ts';
import type { ListQuery } from '../server.ts';
import type { Query } from '../transport/address.ts';
import { statusError, unsupportedBy, type Answer } from '../transport/answer.ts';

/** The most ids of a batch (interface 8.2). */
export const MOST_IDS = 99;
/** The most items a page holds. */
export const MOST_ITEMS = 100;

const CONVERSATIONS = '/api/v1/app-conversations';

export async function searchConversations(
  links: Links,
  query: ListQuery,
  page: string | null,
): Promise<Page<AppConversationRecord>> {
  const answer = await links.app.request({
    method: 'GET',
    path: `${CONVERSATIONS}/search`,
    query: {
      limit: Math.min(query.pageSize ?? MOST_ITEMS, MOST_ITEMS),
      page_id: page,
      // A wildcard of the server's own; there is no way to escape it.
      title__contains: query.titleContains,
      created_at__gte: query.createdAfter,
      created_at__lt: query.createdBefore,
      sandbox_id__eq: query.sandboxId,
    },
    safe: 'read',
  });
  const found = read(answer, (body) => readPage(body, 'conversations', readAppConversation));
  for (const record of found.items) links.network.redaction.add(record.session_api_key);
  return { ...found, items: await withLostRepositories(links, ofSandbox(found.items, query.sandboxId)) };
}

/** Null for each unknown id. */
export async function getConversations(
  links: Links,
  ids: readonly string[],
): Promise<(AppConversationRecord | null)[]> {
  const found = await inSlices(ids, MOST_IDS, async (slice) => {
    const answer = await links.app.request({ method: 'GET', path: CONVERSATIONS, query: { ids: slice }, safe: 'read' });
    return read(answer, (body) => readBatch(body, 'conversations', readAppConversation));
  });
  for (const record of found) links.network.redaction.add(record?.session_api_key);
  return await withLostRepositories(links, found);
}

/** A record without a repository and without the tags of its start may have had a repository. */
async function withLostRepositories<T extends AppConversationRecord | null>(links: Links, records: T[]): Promise<T[]> {
  const isDoubtful = (record: T): boolean =>
    record !== null && record.selected_repository === null && !record.has_start_tags;
  if (!records.some(isDoubtful)) return records;
  const { restored } = await import('../quirks/lost-repository.ts');
  return await restored(links, records, isDoubtful);
}

/** Throws `not-found`; an id that is not a UUID is not requested (servers answer 400, 422 or 500). */
export async function getConversation(links: Links, id: string): Promise<AppConversationRecord> {
  const record = isUuid(id) ? ((await getConversations(links, [normalId(id)]))[0] ?? null) : null;
  if (record === null) throw noConversation(id);
  return record;
}

export async function isThereV1(links: Links, id: string): Promise<boolean> {
  return (await getConversations(links, [normalId(id)]))[0] != null;
}

export async function searchSandboxes(
  links: Links,
  page: string | null,
  pageSize = MOST_ITEMS,
): Promise<Page<SandboxRecord>> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/sandboxes/search',
    query: { limit: Math.min(pageSize, MOST_ITEMS), page_id: page },
    safe: 'read',
  });
  const found = read(answer, (body) => readPage(body, 'sandboxes', readSandbox));
  for (const record of found.items) links.network.redaction.add(record.session_api_key);
  return found;
}

/** Throws `not-found`. */
export async function getSandbox(links: Links, id: string): Promise<SandboxRecord> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/sandboxes',
    query: { id: [id] },
    safe: 'read',
    accept: [404],
  });
  // The answer for an unknown id is null, so a 404 is about the route.
  if (answer.status === 404) throw unsupportedBy(answer, 'this server has no route to read a sandbox by its id');
  const record = read(answer, (body) => readBatch(body, 'sandboxes', readSandbox))[0] ?? null;
  if (record === null) throw noSandbox(id);
  links.network.redaction.add(record.session_api_key);
  return record;
}

export function noSandbox(id: string): AppError {
  return new AppError('not-found', `there is no sandbox ${id.slice(0, 100)} at this server`, {
    hint: 'list them with: acs sandbox list',
  });
}

export interface EventFilter {
  kind?: string;
  /** Naive time, inclusive. */
  since?: string;
  order: 'TIMESTAMP' | 'TIMESTAMP_DESC';
  limit?: number;
  /** Statuses after which the request is not repeated. */
  final?: readonly number[];
}

/**
 * One page of the app server's copy of the events; it lags behind the sandbox but outlives it. The path has changed;
 * where the server lacks it, the answer is 404 or the page of its frontend (interface 7.1, 13 "Documents").
 */
export async function searchAppEvents(
  links: Links,
  id: string,
  filter: EventFilter,
  page: string | null,
): Promise<Page<EventRecord>> {
  const query = {
    kind__eq: filter.kind,
    timestamp__gte: filter.since,
    sort_order: filter.order,
    limit: Math.min(filter.limit ?? MOST_ITEMS, MOST_ITEMS),
    page_id: page,
  };
  const path = `/api/v1/conversation/${encodeURIComponent(normalId(id))}/events/search`;
  const answer = await eventsAnswer(links, path, query, filter.final ?? []);
  if (answer !== null) return read(answer, (body) => readPage(body, 'events', readEvent));
  const old = { ...query, conversation_id__eq: normalId(id) };
  const answerOfOld = await links.app.request({
    method: 'GET',
    path: '/api/v1/events/search',
    query: old,
    safe: 'read',
  });
  return read(answerOfOld, (body) => readPage(body, 'events', readEvent));
}

/** Null where the route is not there; an unknown conversation is an empty page. */
async function eventsAnswer(
  links: Links,
  path: string,
  query: Query,
  final: readonly number[],
): Promise<Answer | null> {
  try {
    const answer = await links.app.request({ method: 'GET', path, query, safe: 'read', accept: [404, ...final] });
    if (answer.status !== 404 && final.includes(answer.status)) throw statusError(answer, { request: answer.request });
    return answer.status === 404 ? null : answer;
  } catch (error) {
    if (isAppError(error) && error.kind === 'server' && error.details.status === 200) return null;
    throw error;
  }
}

/** Calls `fetch` with at most `size` ids at a time and puts the answers together in order. */
export async function inSlices<T>(
  ids: readonly string[],
  size: number,
  fetch: (ids: string[]) => Promise<T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let start = 0; start < ids.length; start += size) all.push(...(await fetch(ids.slice(start, start + size))));
  return all;
}
