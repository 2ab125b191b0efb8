/**
 * How a run ended, and with which exit code (`acs help exit-codes`): from the record of the conversation and the evidence
 * of its events an outcome, or null while the run has not ended.
 *
 * A run is judged by the latest user message. A status that was read before that message, or before the agent started
 * on it, is of the run before; the evidence shows which of the two it is.
 */
import { blankConversation, type Conversation, type ConversationStatus, type Reason } from '../domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../domain/event.ts';
import { type AppError, EXIT_CODES } from '../errors.ts';
import { type End, endOfStatus, endWith, isFinal, isWorking } from './status.ts';

/** What the events say about the latest run. */
export interface RunEvidence {
  last_event_id: string | null;
  /** `none`: the user's message is the newest event of the run, and a status that was read may be older than it. */
  since_message: 'unknown' | 'none' | 'some';
  /** Whether an action was rejected, and the agent did nothing after it. */
  rejected: boolean;
  /** Whether the newest status in the events is that the run is in progress. */
  in_progress: boolean;
  /**
   * V0: whether the agent awaits the user without having answered, as one that was stopped and started again does.
   * `perhaps`: its newest status is so, and it may still start on a stored message. `yes`: that status was stable.
   */
  awaits_user: 'no' | 'perhaps' | 'yes';
}

export const NO_EVIDENCE: RunEvidence = {
  last_event_id: null,
  since_message: 'unknown',
  rejected: false,
  in_progress: false,
  awaits_user: 'no',
};

/** What each signal changes; members that are not named stay as they are. */
const CHANGES: Readonly<Record<RunSignal, Partial<RunEvidence>>> = {
  message: { since_message: 'none', rejected: false, in_progress: false, awaits_user: 'no' },
  activity: { since_message: 'some', rejected: false },
  rejection: { since_message: 'some', rejected: true },
  'status:running': { since_message: 'some', in_progress: true, awaits_user: 'no', rejected: false },
  'status:starting': { since_message: 'some', in_progress: true, awaits_user: 'no' },
  'status:rejected': { since_message: 'some', in_progress: false, awaits_user: 'no', rejected: true },
  'status:awaiting-user': { since_message: 'some', in_progress: false, awaits_user: 'perhaps' },
  'status:other': { since_message: 'some', in_progress: false, awaits_user: 'no' },
};

/** The evidence after one more event. */
export function afterEvent(known: RunEvidence, { id, signal }: ConversationEvent): RunEvidence {
  const seen = { ...known, last_event_id: id };
  if (signal === null) return seen;
  const next = { ...seen, ...CHANGES[signal] };
  // Without a message there is no run: an agent that was just created awaits the user as well.
  if (signal === 'message' || known.since_message !== 'unknown') return next;
  return { ...next, since_message: 'unknown', awaits_user: 'no' };
}

/** The evidence without what contradicts a status: that status was stable for long enough. */
export function withoutContradiction(known: RunEvidence): RunEvidence {
  const awaits_user = known.awaits_user === 'no' ? 'no' : 'yes';
  return { ...known, since_message: 'unknown', in_progress: false, awaits_user };
}

/** The evidence right after the command has started a run: no status that was read before is of that run. */
export function beforeRun(lastEventId: string | null): RunEvidence {
  return { ...NO_EVIDENCE, last_event_id: lastEventId, since_message: 'none' };
}

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

/** `failure` when tracking has ended before the run: by a deadline, a silence or a signal. */
export interface TrackedRun {
  outcome: Outcome;
  failure: AppError | null;
  /** The record that was judged; it has the metrics, unless the run is idle. */
  record?: Conversation;
}

export function outcomeOf(
  { id, status, waiting_for, cost_usd }: Pick<Conversation, 'id' | 'status' | 'waiting_for' | 'cost_usd'>,
  { last_event_id }: RunEvidence,
  exit_code: number,
  reason: Reason | null,
): Outcome {
  return { type: 'outcome', conversation_id: id, status, reason, waiting_for, exit_code, cost_usd, last_event_id };
}

/**
 * The outcome of the run in this state, or null when it has not ended.
 * `idle` alone is not an end, because a conversation that was just started has it too. Unknown statuses are not ends.
 */
export function judge(conversation: Conversation, evidence: RunEvidence): Outcome | null {
  const end = endOf(conversation, evidence);
  if (end === null || isStale(conversation, evidence)) return null;
  const waiting_for = end.waitingFor && (conversation.waiting_for ?? end.waitingFor);
  const reason = conversation.reason ?? end.reason;
  return outcomeOf({ ...conversation, waiting_for }, evidence, EXIT_CODES[end.kind], reason);
}

/** A conversation that no longer exists. */
export function deletedOutcome(conversationId: string, evidence: RunEvidence): Outcome {
  const reason = { code: 'deleted', text: 'the conversation was deleted' };
  return outcomeOf(blankConversation(conversationId, 'deleted'), evidence, EXIT_CODES['not-found'], reason);
}

function endOf({ status }: Conversation, { rejected, awaits_user }: RunEvidence): End | null {
  if (status !== 'idle') return endOfStatus(status);
  if (rejected) return REJECTED;
  return awaits_user === 'yes' ? AWAITS_USER : null;
}

const REJECTED = endWith('needs-input', 'rejected', 'an action was rejected; the agent waits for a message', 'user');
const NO_ANSWER = 'the agent stopped without an answer and waits for a message';
const AWAITS_USER = endWith('needs-input', 'awaiting-user', NO_ANSWER, 'user');

/** Whether the status is one of the latest run, as far as the events show: not left over from the run before. */
export function isOfLatestRun(conversation: Conversation, evidence: RunEvidence): boolean {
  return isWorking(conversation.status) || !isStale(conversation, evidence);
}

/** Whether the status may be older than the newest event. Never so where the sandbox has failed or is gone. */
function isStale({ status, sandbox_status }: Conversation, { since_message, in_progress }: RunEvidence): boolean {
  if (status === 'archived' || (status === 'failed' && sandbox_status === 'error')) return false;
  return since_message === 'none' || in_progress;
}

/**
 * For `wait --for`: exit code 0 in one of the wanted states; the run's own outcome once none of them can come any
 * more, with `conflict` where that would be 0; null otherwise.
 */
export function judgeFor(conversation: Conversation, evidence: RunEvidence, wanted: readonly string[]): Outcome | null {
  if (!isOfLatestRun(conversation, evidence)) return null;
  if (wanted.includes(conversation.status)) {
    return outcomeOf(conversation, evidence, EXIT_CODES.ok, conversation.reason);
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
