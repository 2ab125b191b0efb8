import { AppError } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { allPages, byId } from '../../domain/pages.ts';
import { parseTime } from '../../base/text/time.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { noConversation, normalId, normalizeId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { NO_PROGRESS_MS, startedConversation } from './quirks/stalled-start.ts';
import { isOnlyUnwritten } from './quirks/unwritten-start.ts';
import type { SentStart } from '../shared/server.ts';
import { CONVERSATIONS, find, getConversation, search, START_TASKS } from './calls.ts';
import { taskConversation, toConversation } from './records.ts';

/** A start task older than this has failed; the margin covers clock skew. */
const LONGEST_START_MS = 1_800_000;
const LISTED_MS = 6_000;
const CLOCK_MARGIN_MS = 600_000;

/** The title that identifies a start whose id the server chooses; only the start task has it. */
export function markingTitle(id: string): string {
  return `Conversation ${id}`;
}

export function isEcho(task: StartTaskRecord, conversationId: string): boolean {
  const echoed = chosenId(task);
  return echoed !== null && normalId(echoed) === normalId(conversationId);
}

/** Takes the id of a start task, or the id that a start has requested. Throws `not-found`. */
export async function getByStart(links: Links, id: string): Promise<Conversation> {
  const chosenBy = async () => {
    if (normalizeId(id) === null) return undefined;
    const since = new Date(links.clock.now() - LONGEST_START_MS).toISOString();
    const { items } = await search(links, START_TASKS, { created_at__gte: since, page_id: null });
    return items.find((each) => isEcho(each, id));
  };
  const [named, echoing] = await Promise.all([find(links, START_TASKS, id), chosenBy()]);
  const task = named ?? echoing;
  if (task === undefined) throw noConversation(id);
  const record = await startedRecord(links, task);
  if (record) return { ...toConversation(links, record), start_task_id: normalId(task.id) };
  // Until it is ready, and for good when it failed, the id a task names is that of no conversation.
  const conversation = { ...taskConversation(task), id: '' };
  const chosen = chosenId(task);
  return task.status === 'ERROR' || chosen === null
    ? conversation
    : { ...conversation, chosen_id: normalId(chosen) };
}

async function startedRecord(
  links: Links,
  task: StartTaskRecord,
): Promise<AppConversationRecord | null> {
  const id = task.app_conversation_id ?? chosenId(task);
  if (task.status === 'READY' && task.app_conversation_id !== null)
    return await getConversation(links, task.app_conversation_id);
  if (isOnlyUnwritten(task)) return id === null ? null : await find(links, CONVERSATIONS, id);
  if (task.status === 'ERROR') return null;
  const movedAtMs = parseTime(task.updated_at ?? task.created_at) ?? Infinity;
  const isStalled = links.clock.now() - movedAtMs >= NO_PROGRESS_MS;
  return isStalled ? await startedConversation(links, id) : null;
}

function chosenId({ request }: StartTaskRecord): string | null {
  const id = request['conversation_id'];
  return typeof id === 'string' ? id : null;
}

/** The server has honoured the id of a caller, or its document lists it. */
export function mayHonourIds({ facts }: Links): boolean {
  return facts.echoes_ids || facts.features['caller-conversation-id'] === 'present';
}

/** Undefined where the server shows no sign of the start within 6 s of `sinceMs`. */
export async function listedTask(
  links: Links,
  sent: SentStart,
  sinceMs: number,
): Promise<StartTaskRecord | undefined> {
  const until = sinceMs + LISTED_MS;
  return await poll(() => findTask(links, sent), { ...links, every: STEADY, until });
}

/** Throws `unknown-outcome` where start tasks do not repeat `conversation_id`. */
export async function findStart(links: Links, sent: SentStart): Promise<Conversation | null> {
  const { id, title, sent_at } = sent;
  if (id !== null || title !== undefined) {
    const task = await listedTask(links, sent, parseTime(sent_at) ?? links.clock.now());
    if (task !== undefined && task.id === id)
      return toConversation(links, await getConversation(links, id));
    if (task !== undefined) return await getByStart(links, task.id);
  }
  if (id !== null && mayHonourIds(links)) return null;
  throw new AppError(
    'unknown-outcome',
    'the server shows neither the conversation of the start nor its start task',
    { hint: `it was sent at ${sent_at}; look for it: acs conv list` },
  );
}

async function findTask(
  links: Links,
  { id, title, sent_at }: SentStart,
): Promise<StartTaskRecord | undefined> {
  const sentAtMs = parseTime(sent_at) ?? links.clock.now();
  const created_at__gte = new Date(sentAtMs - CLOCK_MARGIN_MS).toISOString();
  const isOwn = (task: StartTaskRecord) =>
    id === null
      ? task.request['title'] === title
      : isEcho(task, id) || normalId(task.app_conversation_id ?? '') === id;
  for await (const task of allPages(byId, (page_id) =>
    search(links, START_TASKS, { created_at__gte, page_id }),
  ))
    if (isOwn(task)) return task;
  const record = id === null ? null : await find(links, CONVERSATIONS, id);
  if (id === null || record === null) return undefined;
  return {
    id,
    status: 'READY',
    detail: null,
    app_conversation_id: id,
    sandbox_id: record.sandbox_id,
    created_at: null,
    updated_at: null,
    request: { conversation_id: id },
  };
}
