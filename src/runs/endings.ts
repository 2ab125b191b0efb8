/** Errors and outcomes of tracking that ends before the run: by a deadline, a silence or a signal. */
import type { Conversation, ConversationStatus } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { AppError } from '../errors.ts';
import { formatDuration } from '../text/duration.ts';
import { hasEnded, staysSo } from './status.ts';

export function deadlinePassed({ id, status }: Conversation, waitMs: number): AppError {
  const passed = formatDuration(waitMs);
  const isUnknown = status === NOT_READ;
  return new AppError(
    'timeout',
    isUnknown
      ? `conversation ${id} shows no status of the run that was requested after ${passed}`
      : `conversation ${id} is still ${status} after ${passed}; it ${future(status)}`,
    {
      hint: goOnHint(id, status),
      data: { reason: 'timeout', id, last_status: status },
    },
  );
}

/** The deadline passed while the server did not answer: the status of the run is not known. */
export function deadlinePassedUnseen(conversation: Conversation, waitMs: number): AppError {
  return deadlineError(`the server did not answer within ${formatDuration(waitMs)}`, conversation);
}

/** The deadline passed during the steps before the tracker starts. */
export function deadlinePassedBefore(conversation: Conversation, waitMs: number): AppError {
  return deadlineError(`${formatDuration(waitMs)} passed before the run could be followed`, conversation);
}

function deadlineError(passed: string, { id, status }: Conversation): AppError {
  return new AppError('timeout', `${passed}; the last known status of conversation ${id} is ${status}`, {
    hint: showHint(id),
    data: { reason: 'timeout', id, last_status: status },
  });
}

export function noEvents({ id, status }: Conversation, quietMs: number, last: ConversationEvent | null): AppError {
  return new AppError('timeout', `no event of conversation ${id} for ${formatDuration(quietMs)}${lastOf(last)}`, {
    hint: goOnHint(id, status),
    data: { reason: 'no-events', id, last_status: status },
  });
}

/** The same while the run is tracked further, in whole minutes. */
export function noEventsNotice({ id, status }: Conversation, quietMs: number, last: ConversationEvent | null): string {
  const quiet = formatDuration(Math.floor(quietMs / 60_000) * 60_000);
  const state = status === 'running' ? '' : `, and its status is ${status}`;
  return `no event of ${id} for ${quiet}${state}${lastOf(last)}`;
}

function lastOf(event: ConversationEvent | null): string {
  return event === null ? '' : `; the last was: ${event.text}`;
}

/** The signal's own error, with what became of the run. */
export function interruption(error: AppError, { id, status }: Conversation): AppError {
  const isUnknown = status === NOT_READ;
  const state = isUnknown ? 'continues' : `(${status}) ${future(status)}`;
  return new AppError('interrupted', `${error.message}; conversation ${id} ${state}`, {
    ...error.details,
    exitCode: error.exitCode,
    hint: goOnHint(id, status),
    data: { reason: 'interrupted', id, ...(isUnknown ? {} : { last_status: status }) },
  });
}

/** A stop changes nothing for a V1 run that awaits approval: the agent is not working. */
export function staysWaiting(id: string): string {
  return `conversation ${id} waits for a confirmation and does not run until it is answered`;
}

/** Whether a run continues after tracking has ended. */
function future(status: ConversationStatus): string {
  if (hasEnded(status)) return 'has ended';
  return staysSo(status) ? 'does not change by itself' : 'continues';
}

/** A run that waits for a confirmation is answered: over V1 a stop would change nothing of it. */
function goOnHint(id: string, status: ConversationStatus): string {
  if (hasEnded(status)) return showHint(id);
  const end = status === 'waiting' ? `answer it: acs conv confirm ${id}` : `stop it: acs conv stop ${id}`;
  return `follow it: acs conv follow ${id}   ${end}`;
}

function showHint(id: string): string {
  return `see its status: acs conv show ${id}`;
}

/** The status of a conversation whose latest run has not been read. */
export const NOT_READ = 'unknown(not-read)';
