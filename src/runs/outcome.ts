/**
 * How a run ended, and with which exit code (`acs help exit-codes`): from the record of the conversation and the evidence
 * of its events an outcome, or null while the run has not ended.
 *
 * A run is judged by the latest user message. A status that was read before that message, or before the agent started
 * on it, is of the run before; the evidence shows which of the two it is.
 */
import type { Conversation, ConversationStatus, Reason } from '../domain/conversation.ts';
import { EXIT_CODES } from '../errors.ts';
import { NO_EVIDENCE, type RunEvidence } from './evidence.ts';
import { isFinal, isWorking } from './status.ts';

/** The last line of follow, wait and `conv new --wait`. */
export interface Outcome {
  type: 'outcome';
  conversation_id: string;
  status: ConversationStatus;
  reason: Reason | null;
  waiting_for: 'confirmation' | 'user' | null;
  exit_code: number;
  cost_usd: number | null;
  last_event_id: string | null;
}

/**
 * The outcome of the run in this state, or null when it has not ended.
 * `idle` alone is not an end, because a conversation that was just started has it too. Unknown statuses are not ends.
 */
export function judge(conversation: Conversation, evidence: RunEvidence): Outcome | null {
  const ended = endOf(conversation, evidence);
  if (ended === null || isStale(conversation, evidence)) return null;
  return {
    type: 'outcome',
    conversation_id: conversation.id,
    status: conversation.status,
    reason: conversation.reason ?? ended.reason,
    waiting_for: ended.waitingFor ?? null,
    exit_code: EXIT_CODES[ended.kind],
    cost_usd: conversation.cost_usd,
    last_event_id: evidence.last_event_id,
  };
}

/** A conversation that is not there any more. */
export function deletedOutcome(conversationId: string, evidence: RunEvidence): Outcome {
  return {
    type: 'outcome',
    conversation_id: conversationId,
    status: 'deleted',
    reason: { code: 'deleted', text: 'the conversation was deleted' },
    waiting_for: null,
    exit_code: EXIT_CODES['not-found'],
    cost_usd: null,
    last_event_id: evidence.last_event_id,
  };
}

/** The outcome of a run that is no longer waited for and may continue. */
export function openOutcome(
  conversation: Pick<Conversation, 'id' | 'status' | 'waiting_for' | 'cost_usd'>,
  evidence: RunEvidence,
  exitCode: number,
  reason: Reason | null,
): Outcome {
  return {
    type: 'outcome',
    conversation_id: conversation.id,
    status: conversation.status,
    reason,
    waiting_for: conversation.waiting_for,
    exit_code: exitCode,
    cost_usd: conversation.cost_usd,
    last_event_id: evidence.last_event_id,
  };
}

/** The exit code of `show --exit-status`: the outcome's, and for a run that has not ended what a script should do. */
export function exitCodeOfStatus(conversation: Conversation): number {
  const ended = endOf(conversation, NO_EVIDENCE);
  if (ended !== null) return EXIT_CODES[ended.kind];
  return conversation.status === 'idle' ? EXIT_CODES['needs-input'] : EXIT_CODES.conflict;
}

interface End {
  kind: 'ok' | 'failed' | 'needs-input' | 'conflict';
  reason: Reason | null;
  waitingFor?: 'confirmation' | 'user' | null;
}

function endOf({ status, waiting_for }: Conversation, evidence: RunEvidence): End | null {
  switch (status) {
    case 'finished':
      return { kind: 'ok', reason: null };
    case 'failed':
      return { kind: 'failed', reason: { code: 'failed', text: 'the server gives no reason' } };
    case 'stuck':
      return { kind: 'failed', reason: { code: 'stuck', text: 'the agent did the same step again and again' } };
    case 'waiting':
      return { kind: 'needs-input', reason: WAITS_FOR_CONFIRMATION, waitingFor: waiting_for ?? 'confirmation' };
    case 'idle':
      if (evidence.rejected) return { kind: 'needs-input', reason: REJECTED, waitingFor: 'user' };
      return evidence.awaits_user === 'yes' ? { kind: 'needs-input', reason: AWAITS_USER, waitingFor: 'user' } : null;
    case 'paused':
      return { kind: 'conflict', reason: { code: 'paused', text: 'the run was paused before its end' } };
    case 'stopped':
      return { kind: 'conflict', reason: { code: 'stopped', text: 'the run was stopped before its end' } };
    case 'archived':
      return { kind: 'conflict', reason: { code: 'archived', text: 'the sandbox is gone, and the run had not ended' } };
    default:
      return null;
  }
}

const WAITS_FOR_CONFIRMATION: Reason = { code: 'confirmation', text: 'the agent waits for a confirmation' };
const REJECTED: Reason = { code: 'rejected', text: 'an action was rejected; the agent waits for a message' };
const AWAITS_USER: Reason = {
  code: 'awaiting-user',
  text: 'the agent stopped without an answer and waits for a message',
};

/** Whether the status is one of the latest run, as far as the events show: not left over from the run before. */
export function isOfLatestRun(conversation: Conversation, evidence: RunEvidence): boolean {
  return isWorking(conversation.status) || !isStale(conversation, evidence);
}

/** Whether the status may be older than the newest event. Never so where the sandbox has failed or is gone. */
function isStale({ status, sandbox_status }: Conversation, { since_message, in_progress }: RunEvidence): boolean {
  if (status === 'archived' || (status === 'failed' && sandbox_status === 'error')) return false;
  return since_message === 'none' || in_progress;
}

/** Null for a status that may recover, unless the follower has delivered it. */
export function lasting(read: Conversation | null, delivered: Conversation['status'] | null): Conversation | null {
  return read?.may_recover && delivered !== read.status ? null : read;
}

/**
 * For `wait --for`: exit code 0 in one of the wanted states; the run's own outcome once none of them can come any
 * more, with `conflict` where that would be 0; null otherwise.
 */
export function judgeFor(conversation: Conversation, evidence: RunEvidence, wanted: readonly string[]): Outcome | null {
  if (!isOfLatestRun(conversation, evidence)) return null;
  if (wanted.includes(conversation.status)) {
    return openOutcome(conversation, evidence, EXIT_CODES.ok, conversation.reason);
  }
  // Whatever the run is, its sandbox may be archived.
  if (wanted.includes('archived') || !isFinal(conversation.status)) return null;
  const ended = judge(conversation, evidence);
  const reason = {
    code: 'not-reached',
    text: `the run is ${conversation.status} and will not be ${wanted.join(' or ')}`,
  };
  return (
    ended && { ...ended, exit_code: ended.exit_code || EXIT_CODES.conflict, reason: conversation.reason ?? reason }
  );
}
