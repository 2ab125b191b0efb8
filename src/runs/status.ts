/** What the status of a conversation alone says about its run; `outcome.ts` judges by the events too. */
import { NO_STATUS, type Conversation, type ConversationStatus } from '../domain/conversation.ts';

/**
 * `works`: the agent works or is about to; `silent`: the sandbox reports no status; `idle`: no run, or one
 * whose end only the events show; `halted`: before its end, and can be resumed; `closed`: its runtime was closed, and
 * over V0 a list does not show whether the run had ended before; `lost`: the sandbox or the conversation is gone.
 */
type Stage = 'works' | 'silent' | 'idle' | 'halted' | 'closed' | 'ended' | 'lost' | 'unclear';

interface Row {
  stage: Stage;
  /** What a resume requests. A server refuses to run what is lost; a conversation without a message has no run. */
  onResume: 'run' | 'run-if-message' | 'nothing';
}

type Known = Exclude<ConversationStatus, `unknown(${string})`> | typeof NO_STATUS;

const ROWS: Partial<Record<ConversationStatus, Row>> = {
  starting: { stage: 'works', onResume: 'nothing' },
  running: { stage: 'works', onResume: 'run' },
  [NO_STATUS]: { stage: 'silent', onResume: 'run' },
  idle: { stage: 'idle', onResume: 'run-if-message' },
  waiting: { stage: 'halted', onResume: 'run' },
  paused: { stage: 'halted', onResume: 'run' },
  stopped: { stage: 'closed', onResume: 'run' },
  finished: { stage: 'ended', onResume: 'nothing' },
  failed: { stage: 'ended', onResume: 'run' },
  stuck: { stage: 'ended', onResume: 'run' },
  archived: { stage: 'lost', onResume: 'run' },
  deleted: { stage: 'lost', onResume: 'run' },
} satisfies Record<Known, Row>;

/** A word that a later server invented. */
const UNCLEAR: Row = { stage: 'unclear', onResume: 'run' };

function rowOf(status: ConversationStatus): Row {
  return ROWS[status] ?? UNCLEAR;
}

function isIn(status: ConversationStatus, ...stages: Stage[]): boolean {
  return stages.includes(rowOf(status).stage);
}

export function isWorking(status: ConversationStatus): boolean {
  return isIn(status, 'works');
}

/** Whether nothing shows that the agent still works. A sandbox that reports no status may still execute the last step. */
export function hasStopped(status: ConversationStatus): boolean {
  return !isIn(status, 'works', 'silent');
}

/** Whether the run reached its end by itself, in success or failure. */
export function hasEnded(status: ConversationStatus): boolean {
  return isIn(status, 'ended');
}

/** Whether the run was halted before its end and can be resumed. */
export function isUnfinished(status: ConversationStatus): boolean {
  return isIn(status, 'halted');
}

/** Whether the status changes only after a new message or a resume. */
export function isFinal(status: ConversationStatus): boolean {
  return isIn(status, 'ended', 'closed', 'lost');
}

/** Whether the status by itself is an outcome, as `idle` is not: all events before it are to be delivered first. */
export function isOutcome(status: ConversationStatus): boolean {
  return isFinal(status) || isUnfinished(status);
}

/** Whether a run that has not ended stays as it is without an order. */
export function staysSo(status: ConversationStatus): boolean {
  return isIn(status, 'idle', 'halted', 'closed');
}

/** Whether the server has no status, or a word that acs does not know. */
export function isUnknown(status: ConversationStatus): boolean {
  return isIn(status, 'silent', 'unclear');
}

/** Whether a resume requests that the run continues. */
export function actionOnResume(status: ConversationStatus): Row['onResume'] {
  return rowOf(status).onResume;
}

/**
 * Whether a run is in progress: pausing or deleting its sandbox now would cut it off. A run that waits for a
 * confirmation in a paused sandbox is not: nothing of it runs.
 */
export function isRunInProgress({ status, sandbox_status }: RunPlace): boolean {
  return isWorking(status) || (status === 'waiting' && sandbox_status !== 'paused');
}

type RunPlace = Pick<Conversation, 'status' | 'sandbox_status'>;
