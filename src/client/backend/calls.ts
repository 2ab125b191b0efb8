/** Conversations of an agent server that is reached directly (interface 14.2). */
import { AppError } from '../../base/errors.ts';
import type { Page } from '../../domain/pages.ts';
import { dashedId, noConversation, normalId, normalizeId } from '../../domain/ids.ts';
import {
  readAgentConversation,
  type AgentConversationRecord,
} from '../../protocol/agent-server/records.ts';
import { readPage } from '../../protocol/shape.ts';
import { AgentClient } from '../agent-server/client.ts';
import { read, type Links } from '../shared/links.ts';
import type { ListQuery } from '../shared/server.ts';

/** Greater limits are refused. */
const MOST_ITEMS = 100;

export function ownMachine(): AppError {
  return new AppError(
    'unsupported',
    'this server has no sandboxes: its conversations run in folders of its own machine',
  );
}

export function pathOf(id: string): string {
  return `/api/conversations/${dashedId(normalId(id))}`;
}

export async function search(
  links: Links,
  { pageSize = MOST_ITEMS }: ListQuery,
  page: string | null,
): Promise<Page<AgentConversationRecord>> {
  const query = { limit: Math.min(pageSize, MOST_ITEMS), page_id: page };
  const answer = await links.app.request({ path: '/api/conversations/search', query });
  return read(answer, (body) => readPage(body, 'conversations', readAgentConversation));
}

/** Null for an unknown id. A server refuses what is no UUID: it is not sent. */
export async function find(links: Links, id: string): Promise<AgentConversationRecord | null> {
  if (normalizeId(id) === null) return null;
  const answer = await links.app.request({ path: pathOf(id), accept: [404] });
  return answer.status === 404 ? null : read(answer, readAgentConversation);
}

/** Throws `not-found`. */
export async function getRecord(links: Links, id: string): Promise<AgentConversationRecord> {
  const record = await find(links, id);
  if (record === null) throw noConversation(id);
  return record;
}

/** Throws `not-found` for an id of a wrong form. */
export function agentOf(links: Links, id: string): AgentClient {
  if (normalizeId(id) === null) throw noConversation(id);
  return new AgentClient(links, { transport: links.app, key: links.appKey }, id);
}
