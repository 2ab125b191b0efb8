/** A start task, read to its end (interface 4.2). */
import { AppError, isAppError } from '../../errors.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { poll, QUICK, STEADY } from '../../runs/poll.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { StartProgress } from '../server.ts';
import { getConversation, getConversations } from './calls.ts';
import { startFailureText } from './records.ts';
import { getStartTask, isOnlyUnwritten } from './start-tasks.ts';

/** A task that shows no progress for this long is looked up by its conversation: some never end (interface 4.2). */
export const NO_PROGRESS_MS = 20_000;
/** A server that does not answer for less than this may restart: the start is on its way. */
const LONGEST_OUTAGE_MS = 60_000;
/** The record of a started conversation is found within this time. */
const FOUND_MS = 1_500;

/**
 * Reads the task until its conversation has started; yields each step. Throws `failed` where the task ends in ERROR.
 * @param conversationId the id that was sent with the start
 */
export async function* untilReady(
  links: Links,
  first: StartTaskRecord,
  conversationId: string | null,
  signal: AbortSignal,
): AsyncGenerator<StartProgress, StartTaskRecord, void> {
  for (let task = first; ; yield progress(task, conversationId)) {
    const ready = await readyTask(links, task, conversationId, signal);
    if (ready !== null) return ready;
    task = await nextTask(links, task, conversationId, signal);
  }
}

/** The task of a start that has ended well; null while it has not ended. Throws `failed`. */
async function readyTask(
  links: Links,
  task: StartTaskRecord,
  conversationId: string | null,
  signal: AbortSignal,
): Promise<StartTaskRecord | null> {
  if (isReady(task)) return task;
  if (task.status !== 'ERROR') return null;
  const id = isOnlyUnwritten(task) ? await idOfBegun(links, conversationId, signal) : null;
  if (id === null) throw startFailed(task);
  return { ...task, status: 'READY', app_conversation_id: id };
}

function isReady({ status, app_conversation_id: id }: StartTaskRecord): boolean {
  return status === 'READY' && id !== null;
}

/** Reads the task until its status has changed; as ready where it makes no progress and its conversation is there. */
async function nextTask(
  links: Links,
  { id, status }: StartTaskRecord,
  conversationId: string | null,
  signal: AbortSignal,
): Promise<StartTaskRecord> {
  const { clock } = links;
  let lookUpAtMs = clock.now() + NO_PROGRESS_MS;
  let awaySinceMs: number | null = null;
  const changed = async (): Promise<StartTaskRecord | undefined> => {
    try {
      const task = await getStartTask(links, id);
      awaySinceMs = null;
      if (task === null) throw unknownTask(id);
      if (task.status !== status || isReady(task)) return task;
      if (clock.now() < lookUpAtMs) return undefined;
      lookUpAtMs = clock.now() + NO_PROGRESS_MS;
      return await asReady(links, task, conversationId);
    } catch (error) {
      awaySinceMs ??= clock.now();
      if (!isPassing(error) || clock.now() - awaySinceMs >= LONGEST_OUTAGE_MS) throw error;
      return undefined;
    }
  };
  const every = links.local ? { ...STEADY, firstMs: QUICK.firstMs } : STEADY;
  return await poll(changed, { clock, signal: AbortSignal.any([signal, links.signal]), every });
}

async function asReady(
  links: Links,
  task: StartTaskRecord,
  conversationId: string | null,
): Promise<StartTaskRecord | undefined> {
  const id = task.app_conversation_id ?? conversationId;
  const record = id === null ? null : (await getConversations(links, [normalId(id)]))[0];
  if (record == null || record.execution_status === null) return undefined;
  return { ...task, status: 'READY', app_conversation_id: record.id };
}

function unknownTask(id: string): AppError {
  return new AppError('server', `the server no longer knows the start task ${normalId(id)}`, {
    data: { start_task_id: normalId(id) },
  });
}

/** Null where its record does not come. */
async function idOfBegun(links: Links, conversationId: string | null, signal: AbortSignal): Promise<string | null> {
  if (conversationId === null) return null;
  return await recordOf(links, conversationId, signal).then(
    ({ id }) => id,
    (error: unknown) => {
      if (isAppError(error) && error.kind === 'not-found') return null;
      throw error;
    },
  );
}

function isPassing(error: unknown): boolean {
  return isAppError(error) && (error.kind === 'network' || error.kind === 'server' || error.kind === 'rate-limited');
}

function startFailed(task: StartTaskRecord): AppError {
  return new AppError('failed', `the conversation did not start: ${startFailureText(task.detail)}`, {
    data: { start_task_id: normalId(task.id), sandbox_id: task.sandbox_id },
  });
}

export function progress(task: StartTaskRecord, conversationId: string | null): StartProgress {
  const id = task.app_conversation_id ?? conversationId;
  return {
    start_task_id: normalId(task.id),
    step: task.status.toLowerCase().replaceAll('_', '-'),
    conversation_id: id === null ? null : normalId(id),
    sandbox_id: task.sandbox_id,
  };
}

/** The record of a conversation whose task is READY: some servers find it a moment later. */
export async function recordOf(links: Links, id: string, signal: AbortSignal): Promise<AppConversationRecord> {
  const until = links.clock.now() + FOUND_MS;
  const found = async (): Promise<AppConversationRecord | undefined> => {
    try {
      return await getConversation(links, id);
    } catch (error) {
      const mayPass = isPassing(error) || (isAppError(error) && error.kind === 'not-found');
      if (!mayPass || links.clock.now() >= until) throw error;
      return undefined;
    }
  };
  return await poll(found, { clock: links.clock, signal, every: QUICK });
}
