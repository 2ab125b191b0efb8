import {
  NO_STATUS,
  type Conversation,
  type ConversationStatus,
  type Reason,
} from '../domain/conversation.ts';
import { EXIT_CODES } from '../base/errors.ts';

/** `idle`: only events show an end. `halted`: can be resumed. `closed`: V0 lists show no end. */
type Stage = 'works' | 'unreported' | 'idle' | 'halted' | 'closed' | 'ended' | 'gone';

/** A status that a later server has invented has no stage. */
const STAGES: Partial<Record<ConversationStatus, Stage>> = {
  starting: 'works',
  running: 'works',
  [NO_STATUS]: 'unreported',
  idle: 'idle',
  waiting: 'halted',
  paused: 'halted',
  stopped: 'closed',
  finished: 'ended',
  failed: 'ended',
  stuck: 'ended',
  archived: 'gone',
  deleting: 'gone',
  deleted: 'gone',
} satisfies Record<Exclude<ConversationStatus, `unknown(${string})`> | typeof NO_STATUS, Stage>;

export interface End {
  kind: 'ok' | 'failed' | 'needs-input' | 'conflict';
  reason: Reason | null;
  waitingFor: 'confirmation' | 'user' | null;
}

export function endWith(
  kind: End['kind'],
  code: string,
  text: string,
  waitingFor: End['waitingFor'] = null,
): End {
  return { kind, reason: { code, text }, waitingFor };
}

const ENDS: Partial<Record<ConversationStatus, End>> = {
  waiting: endWith(
    'needs-input',
    'confirmation',
    'the agent waits for a confirmation',
    'confirmation',
  ),
  paused: endWith('conflict', 'paused', 'the run was paused before its end'),
  stopped: endWith('conflict', 'stopped', 'the run was stopped before its end'),
  finished: { kind: 'ok', reason: null, waitingFor: null },
  failed: endWith('failed', 'failed', 'the server gives no reason'),
  stuck: endWith('failed', 'stuck', 'the agent did the same step again and again'),
  archived: endWith('conflict', 'archived', 'the sandbox is gone, and the run had not ended'),
};

export function endOfStatus(status: ConversationStatus): End | null {
  return ENDS[status] ?? null;
}

export function exitCodeOfStatus(status: ConversationStatus): number {
  return EXIT_CODES[ENDS[status]?.kind ?? (status === 'idle' ? 'needs-input' : 'conflict')];
}

function isIn(status: ConversationStatus, ...stages: (Stage | undefined)[]): boolean {
  return stages.includes(STAGES[status]);
}

export function isWorking(status: ConversationStatus): boolean {
  return isIn(status, 'works');
}

/** A sandbox that reports no status may still execute the last step. */
export function hasStopped(status: ConversationStatus): boolean {
  return !isIn(status, 'works', 'unreported');
}

export function hasEnded(status: ConversationStatus): boolean {
  return isIn(status, 'ended');
}

export function isFinal(status: ConversationStatus): boolean {
  return isIn(status, 'ended', 'closed', 'gone');
}

export function isUnknown(status: ConversationStatus): boolean {
  return isIn(status, 'unreported', undefined);
}

/** A server refuses to run what is gone; a conversation without a message has no run. */
export function actionOnResume(status: ConversationStatus): 'run' | 'run-if-message' | 'nothing' {
  if (status === 'idle') return 'run-if-message';
  return status === 'starting' || status === 'finished' ? 'nothing' : 'run';
}

/** False for a run that waits for a confirmation in a paused sandbox. */
export function isRunInProgress({
  status,
  sandbox_status,
}: Pick<Conversation, 'status' | 'sandbox_status'>): boolean {
  return isWorking(status) || (status === 'waiting' && sandbox_status !== 'paused');
}
