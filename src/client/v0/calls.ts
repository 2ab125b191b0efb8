import { AppError } from '../../base/errors.ts';
import { eachItem, eachPage, type Page } from '../../domain/pages.ts';
import { readPage } from '../../protocol/shape.ts';
import {
  readConversationInfo,
  readEventsV0,
  type ConversationInfo,
  type EventRecordV0,
} from '../../protocol/v0/records.ts';
import type { Transport } from '../http/transport.ts';
import { normalId, noConversation } from '../../domain/ids.ts';
import { read, type Links } from '../shared/links.ts';

export function pathOfV0(id: string): string {
  return `/api/conversations/${encodeURIComponent(normalId(id))}`;
}

export async function listConversationsV0(
  { app, network }: Links,
  pageSize: number,
  page: string | null,
): Promise<Page<ConversationInfo>> {
  const query = { limit: Math.min(pageSize, 100), page_id: page };
  const answer = await app.request({ path: '/api/conversations', query });
  const found = read(answer, (body) => readPage(body, 'conversations', readConversationInfo));
  for (const info of found.items) network.redaction.add(info.session_api_key);
  return found;
}

/** An unknown one is 200 with null (interface 3.3), or 404. Throws `not-found`. */
export async function getConversationV0(
  { app, network }: Links,
  id: string,
): Promise<ConversationInfo> {
  const answer = await app.request({ path: pathOfV0(id), accept: [404] });
  if (answer.status === 404 || answer.body === null) throw noConversation(id);
  const info = read(answer, readConversationInfo);
  network.redaction.add(info.session_api_key);
  return info;
}

export async function getRunningV0(
  links: Links,
  id: string,
  hint?: string,
  so = '',
): Promise<ConversationInfo> {
  const info = await getConversationV0(links, id);
  if (info.status.toUpperCase() === 'RUNNING') return info;
  const message = `this conversation does not run (it is ${info.status.toLowerCase()})${so}`;
  throw new AppError('conflict', message, { hint });
}

/** In the cloud `url` has the host of the runtime, which takes this key (interface 3.4). */
export function runtimeOf(
  links: Links,
  info: ConversationInfo,
): { transport: Transport; path: string } {
  const path = pathOfV0(info.conversation_id);
  if (info.url === null || !/^https?:\/\//.test(info.url)) return { transport: links.app, path };
  const base = info.url.replace(/\/api\/conversations\/[^/]+\/?$/, '');
  const sameServer = new URL(base).origin === new URL(links.app.baseUrl).origin;
  return { transport: sameServer ? links.app : links.agent(base, info.session_api_key), path };
}

/** The number of the first event; null: the newest ones, backwards. */
export function eventPagesV0(
  links: Links,
  info: ConversationInfo,
  start: number | null,
): AsyncGenerator<EventRecordV0[], void, void> {
  const { transport, path } = runtimeOf(links, info);
  const isBackward = start === null;
  const [bound, step] = isBackward ? (['end_id', -1] as const) : (['start_id', 1] as const);
  const fetchPage = async (page: string | null) => {
    const at = page ? Number(page) : start;
    const query = { [bound]: at, reverse: isBackward, limit: 100 };
    const answer = await transport.request({ path: `${path}/events`, query, accept: [404] });
    if (answer.status === 404) throw noConversation(info.conversation_id);
    const { events, has_more } = read(answer, readEventsV0);
    const last = events.at(-1);
    const next = last === undefined ? at : last.id + step;
    return {
      // A server may ignore `end_id`.
      items: isBackward ? events.filter(({ id }) => at === null || id <= at) : events,
      next: has_more && next !== -1 ? String(next ?? '') : null,
    };
  };
  return eachPage(({ id }) => String(id), fetchPage);
}

export function eventsV0(
  ...of: Parameters<typeof eventPagesV0>
): AsyncGenerator<EventRecordV0, void, void> {
  return eachItem(eventPagesV0(...of));
}
