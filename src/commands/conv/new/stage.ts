import type { AppError } from '../../../base/errors.ts';
import type { SentStart } from '../../../client/shared/server.ts';
import { blankConversation } from '../../../domain/conversation.ts';
import { interruption } from '../../../runs/outcome.ts';

/** How far a start has come. */
export type Stage =
  | { at: 'unsent' }
  /** The request is out, and its answer has not come or was lost. */
  | { at: 'sent'; sent: SentStart }
  | TakenStart;

/** While there is only a task, the server may choose another id than the one it was sent. */
export interface TakenStart extends StartIds {
  at: 'task' | 'started';
}

/** At least one is set, except before the first answer. V0 has no start tasks. */
export interface StartIds {
  id: string | null;
  start_task_id: string | null;
}

export const UNSENT: Stage = { at: 'unsent' };

/** The id that finds the start; null where there is none. */
export function idOfStart(stage: Stage): string | null {
  if (stage.at === 'unsent') return null;
  return stage.at === 'sent' ? stage.sent.id : (stage.id ?? stage.start_task_id);
}

export function isCutOff({ kind }: AppError): boolean {
  return kind === 'timeout' || kind === 'interrupted';
}

/** The request was not delivered, or the answer says that the start is not taken. */
export function isRefusal({ kind, details: { status = 0, data } }: AppError): boolean {
  if (kind === 'network' || data?.['changed'] === false) return true;
  return status >= 400 && status < 500 && data?.['conversation_id'] === undefined;
}

/** Failures of requests, whether or not the error names the request. */
const FAILED_REQUEST: ReadonlySet<string> = new Set([
  'server',
  'network',
  'rate-limited',
  'auth',
  'unknown-outcome',
]);

type Cause = 'unfinished' | 'found' | 'request' | 'start';

function causeOf(error: AppError): Cause {
  const { kind, details } = error;
  const startId = details.data?.['conversation_id'];
  if (startId === null) return 'found';
  if (isCutOff(error) || kind === 'failed') return 'unfinished';
  const isOfRequest = FAILED_REQUEST.has(kind) || details.request !== undefined;
  return startId === undefined && isOfRequest ? 'request' : 'start';
}

/** What an error means for a start that the server has taken. */
const REPORTS: Record<
  Cause,
  {
    /** Which id names a start that is only a task. */
    task: 'id' | 'start_task_id';
    /** Follows the message; an id follows it. */
    remark?: string;
    next: 'show' | 'show-or-stop';
  }
> = {
  // The task may never create the conversation whose id was printed.
  unfinished: { task: 'start_task_id', next: 'show' },
  // Unfinished, and the answer to the start was lost: its task was found by the title.
  found: { task: 'start_task_id', remark: ', as start task ', next: 'show-or-stop' },
  // A later request has failed.
  request: { task: 'id', remark: '; the run may continue as ', next: 'show-or-stop' },
  // The server has started something else than was requested, as the error says.
  start: { task: 'id', next: 'show' },
};

/** `why`: the message without what becomes of the run. */
export function reportStart(
  { at, id, start_task_id }: TakenStart,
  error: AppError,
): { name: string; why: string; failure: AppError } {
  const { message, details } = error;
  const { task, remark, next } = REPORTS[causeOf(error)];
  const first = at === 'task' && task === 'start_task_id' ? start_task_id : id;
  const name = first ?? id ?? start_task_id ?? '';
  const why = remark === undefined ? message : `${message}${remark}${name}`;
  const hint =
    next === 'show'
      ? (details.hint ?? `see: acs conv show ${name}`)
      : `see: acs conv show ${name}\nstop it: acs conv stop ${name}`;
  const failure = error.with({ hint, data: { ...details.data, id, start_task_id } }, why);
  const isInterrupted = error.kind === 'interrupted';
  return {
    name,
    why,
    failure: isInterrupted ? interruption(failure, blankConversation(name, 'starting')) : failure,
  };
}
