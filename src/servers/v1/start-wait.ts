/** A start task, read to its end (interface 4.2). */
import { AppError } from '../../errors.ts';
import { isPassing } from '../../runs/deadline.ts';
import type { StartTaskRecord } from '../../protocol/v1/records.ts';
import { poll, QUICK, STEADY } from '../../runs/poll.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { NO_PROGRESS_MS, startedConversation } from '../quirks/stalled-start.ts';
import { isOnlyUnwritten, unwrittenConversation } from '../quirks/unwritten-start.ts';
import type { StartProgress } from '../server.ts';
import { getConversation } from './calls.ts';
import { startFailureText } from './records.ts';
import { getStartTask } from './start-tasks.ts';

/** A server that does not answer for less than this may restart: the start is on its way. */
const LONGEST_OUTAGE_MS = 60_000;

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
  if (conversationId === null || !isOnlyUnwritten(task)) throw startFailed(task);
  const record = await unwrittenConversation(links, () => getConversation(links, conversationId), signal);
  if (record === undefined) throw startFailed(task);
  return { ...task, status: 'READY', detail: null, app_conversation_id: record.id };
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
  /** Undefined while the server is away. */
  const read = async (): Promise<StartTaskRecord | null | undefined> => {
    try {
      const task = await getStartTask(links, id);
      awaySinceMs = null;
      return task;
    } catch (error) {
      awaySinceMs ??= clock.now();
      if (!isPassing(error) || clock.now() - awaySinceMs >= LONGEST_OUTAGE_MS) throw error;
      return undefined;
    }
  };
  const changed = async (): Promise<StartTaskRecord | undefined> => {
    const task = await read();
    if (task === undefined) return undefined;
    if (task === null) throw unknownTask(id);
    if (task.status !== status || isReady(task)) return task;
    if (clock.now() < lookUpAtMs) return undefined;
    lookUpAtMs = clock.now() + NO_PROGRESS_MS;
    const record = await startedConversation(links, task.app_conversation_id ?? conversationId);
    return record === null ? undefined : { ...task, status: 'READY', app_conversation_id: record.id };
  };
  const every = links.app.loopback ? { ...STEADY, firstMs: QUICK.firstMs } : STEADY;
  const options = { clock, signal: AbortSignal.any([signal, links.signal]), every, readBefore: true } as const;
  return await poll(changed, options);
}

function unknownTask(id: string): AppError {
  return new AppError('server', `the server no longer has the start task ${normalId(id)}`, {
    data: { start_task_id: normalId(id) },
  });
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
