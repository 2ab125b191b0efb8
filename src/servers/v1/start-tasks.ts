/** The start tasks of V1, which keep what a conversation was started with (interface 4.2). */
import { readStartTask, type StartTaskRecord } from '../../protocol/v1/records.ts';
import { readBatch, readPage } from '../../protocol/shape.ts';
import { isUuid, normalId } from '../ids.ts';
import { read, type Links } from '../links.ts';
import type { Page } from '../../domain/pages.ts';
import type { Query } from '../transport/address.ts';

const START_TASKS = '/api/v1/app-conversations/start-tasks';
/** A start task older than this has failed; the margin covers clock skew. */
export const LONGEST_START_MS = 1_800_000;
/** The most items a page holds. */
const MOST_ITEMS = 100;

/** The conversation a task is about: also of one that never came to name it, where the caller chose its id. */
export function conversationOf({ app_conversation_id: named, request }: StartTaskRecord): string | null {
  const asked = request['conversation_id'];
  return named ?? (typeof asked === 'string' ? asked : null);
}

export async function getStartTask(links: Links, id: string): Promise<StartTaskRecord | null> {
  if (!isUuid(id)) return null;
  const query = { ids: [normalId(id)] };
  const answer = await links.app.request({ method: 'GET', path: START_TASKS, query, safe: 'read' });
  return read(answer, (body) => readBatch(body, 'start tasks', readStartTask))[0] ?? null;
}

/** Which start tasks to look for. */
export interface StartTaskQuery {
  conversationId?: string | undefined;
  /** RFC 3339; made then or later. */
  since?: string | undefined;
  /** Default: the newest first. */
  order?: 'oldest-first';
  timeoutMs?: number;
}

export async function searchStartTasks(
  links: Links,
  { conversationId, since, order, timeoutMs }: StartTaskQuery,
  page: string | null = null,
): Promise<Page<StartTaskRecord>> {
  const query: Query = {
    conversation_id__eq: conversationId,
    created_at__gte: since,
    sort_order: order && 'CREATED_AT',
    limit: MOST_ITEMS,
    page_id: page,
  };
  const call = { method: 'GET', path: `${START_TASKS}/search`, query, safe: 'read', timeoutMs } as const;
  const answer = await links.app.request(call);
  return read(answer, (body) => readPage(body, 'start tasks', readStartTask));
}
