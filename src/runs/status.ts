/**
 * What the status of a conversation by itself means for its run: one table for all callers. `outcome.ts` judges by
 * the events too.
 */
import { NO_STATUS, type Conversation, type ConversationStatus, type Reason } from '../domain/conversation.ts';
import { EXIT_CODES } from '../errors.ts';

/**
 * `works`: the agent works or is about to; `silent`: the sandbox reports no status; `idle`: no run, or one whose end only
 * the events show; `halted`: before its end, and can be resumed; `closed`: its runtime was closed, and over V0 a list
 * does not show whether the run had ended before; `lost`: the sandbox or the conversation is gone.
 */
type Stage = 'works' | 'silent' | 'idle' | 'halted' | 'closed' | 'ended' | 'lost' | 'unclear';

/** How a run ends; `kind` gives the exit code. */
export interface End {
  kind: 'ok' | 'failed' | 'needs-input' | 'conflict';
  /** Where the record has none. */
  reason: Reason | null;
  waitingFor: 'confirmation' | 'user' | null;
}

interface Row {
  stage: Stage;
  /** What a resume requests. A server refuses to run what is lost; a conversation without a message has no run. */
  onResume: 'run' | 'run-if-message' | 'nothing';
  /** Null: the status alone is not an end. */
  end: End | null;
}

type Known = Exclude<ConversationStatus, `unknown(${string})`> | typeof NO_STATUS;

const FINISHED: End = { kind: 'ok', reason: null, waitingFor: null };

const ROWS: Partial<Record<ConversationStatus, Row>> = {
  starting: row('works', 'nothing'),
  running: row('works', 'run'),
  [NO_STATUS]: row('silent', 'run'),
  idle: row('idle', 'run-if-message'),
  waiting: row(
    'halted',
    'run',
    endWith('needs-input', 'confirmation', 'the agent waits for a confirmation', 'confirmation'),
  ),
  paused: row('halted', 'run', endWith('conflict', 'paused', 'the run was paused before its end')),
  stopped: row('closed', 'run', endWith('conflict', 'stopped', 'the run was stopped before its end')),
  finished: row('ended', 'nothing', FINISHED),
  failed: row('ended', 'run', endWith('failed', 'failed', 'the server gives no reason')),
  stuck: row('ended', 'run', endWith('failed', 'stuck', 'the agent did the same step again and again')),
  archived: row('lost', 'run', endWith('conflict', 'archived', 'the sandbox is gone, and the run had not ended')),
  deleted: row('lost', 'run'),
} satisfies Record<Known, Row>;

/** A word that a later server invented. */
const UNCLEAR = row('unclear', 'run');

function row(stage: Stage, onResume: Row['onResume'], end: End | null = null): Row {
  return { stage, onResume, end };
}

export function endWith(kind: End['kind'], code: string, text: string, waitingFor: End['waitingFor'] = null): End {
  return { kind, reason: { code, text }, waitingFor };
}

function rowOf(status: ConversationStatus): Row {
  return ROWS[status] ?? UNCLEAR;
}

function isIn(status: ConversationStatus, ...stages: Stage[]): boolean {
  return stages.includes(rowOf(status).stage);
}

/** The end that the status by itself is, as `idle` is not; null for none. */
export function endOfStatus(status: ConversationStatus): End | null {
  return rowOf(status).end;
}

/** The exit code of `show --exit-status`: the one of the end; without an end, what a script has to do. */
export function exitCodeOfStatus(status: ConversationStatus): number {
  const kind = endOfStatus(status)?.kind ?? (status === 'idle' ? 'needs-input' : 'conflict');
  return EXIT_CODES[kind];
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

/** Whether a run that has not ended keeps its status until a command changes it. */
export function staysSo(status: ConversationStatus): boolean {
  return isIn(status, 'idle', 'halted', 'closed', 'lost');
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
