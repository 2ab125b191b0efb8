/**
 * How a run ended, and with which exit code (`acs help exit-codes`). Pure: records and events in, an outcome out, or
 * null while the run has not ended.
 *
 * A run is judged by the latest user message. A state that was read before that message, or before the agent took it
 * up, says how the run before ended; `RunEvidence` is what keeps the two apart.
 */
import type { Conversation, ConversationStatus, Reason } from './conversation.ts';
import type { ConversationEvent } from './event.ts';
import { EXIT_CODES } from '../errors.ts';

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

/** What the events tell of the run since the latest user message. */
export interface RunEvidence {
  last_event_id: string | null;
  /** `none`: the message is the newest that is known; whatever state was read may be older than it. */
  since_message: 'unknown' | 'none' | 'some';
  /** Whether an action was rejected, and nothing of the agent came after it. */
  rejected: boolean;
  /** The newest state of the run an event told: the server's own word, lower case. */
  last_word: string | null;
  /**
   * V0: whether the agent stands still for a word of its user that is not the end of its run, as one does that was
   * stopped and woken. `perhaps`: it has said so, and may be about to take the message up all the same.
   */
  awaits_user: 'no' | 'perhaps' | 'yes';
}

export const NO_EVIDENCE: RunEvidence = {
  last_event_id: null,
  since_message: 'unknown',
  rejected: false,
  last_word: null,
  awaits_user: 'no',
};

/** The evidence once a state has stood for long enough: what speaks against it was not about it. */
export function afterStanding(known: RunEvidence): RunEvidence {
  const awaits_user = known.awaits_user === 'no' ? 'no' : 'yes';
  return { ...known, since_message: 'unknown', last_word: null, awaits_user };
}

/** What is known after one more event. */
export function afterEvent(known: RunEvidence, event: ConversationEvent): RunEvidence {
  const seen = { ...known, last_event_id: event.id };
  if (isUserMessage(event))
    return { ...seen, since_message: 'none', rejected: false, last_word: null, awaits_user: 'no' };
  const word = runWord(event);
  if (word !== null) {
    return {
      ...seen,
      ...noted(known),
      last_word: word,
      // Without a message there is no run: an agent that has just been made says the same.
      awaits_user: word === 'awaiting_user_input' && known.since_message !== 'unknown' ? 'perhaps' : 'no',
      rejected: word === 'user_rejected' || (known.rejected && word !== 'running'),
    };
  }
  // V0 tells it under the name of the agent.
  if (event.kind === 'UserRejectObservation' || event.kind === 'observation:user_rejected') {
    return { ...seen, ...noted(known), rejected: true };
  }
  if (event.source === 'agent') return { ...seen, ...noted(known), rejected: false };
  return seen;
}

/** A new message of the user begins a new run. */
export function isUserMessage({ source, kind }: Pick<ConversationEvent, 'source' | 'kind'>): boolean {
  return source === 'user' && (kind === 'MessageEvent' || kind === 'action:message');
}

/** The state of the run an event tells, in the server's word; null for other events. */
export function runWord({ kind, payload }: Pick<ConversationEvent, 'kind' | 'payload'>): string | null {
  if (kind === 'ConversationStateUpdateEvent' && payload['key'] === 'execution_status') {
    return typeof payload['value'] === 'string' ? payload['value'].toLowerCase() : null;
  }
  if (kind !== 'observation:agent_state_changed') return null;
  const extras = payload['extras'];
  const state =
    typeof extras === 'object' && extras !== null ? (extras as Record<string, unknown>)['agent_state'] : null;
  return typeof state === 'string' ? state.toLowerCase() : null;
}

/**
 * The outcome of the run in this state, or null when it has not ended.
 * `idle` alone is no end: it is also what comes right after a start. A word invented later is no end either.
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

/** What is said of a run that acs stopped waiting for: the run itself goes on. */
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
  text: 'the agent stands still without an answer, and waits for a message',
};

/** Whether the status is one of the latest run, as far as the events show: not left over from the run before. */
export function isOfLatestRun(conversation: Conversation, evidence: RunEvidence): boolean {
  const { status } = conversation;
  return status === 'running' || status === 'starting' || !isStale(conversation, evidence);
}

/** The evidence right after a run was started: nothing that was read before is about it. */
export function beforeRun(lastEventId: string | null): RunEvidence {
  return { ...NO_EVIDENCE, last_event_id: lastEventId, since_message: 'none' };
}

/** Whether the state may be older than what the events tell. In a sandbox that failed or is gone nothing goes on. */
function isStale({ status, sandbox_status }: Conversation, { since_message, last_word }: RunEvidence): boolean {
  if (status === 'archived' || (status === 'failed' && sandbox_status === 'error')) return false;
  return since_message === 'none' || last_word === 'running' || last_word === 'loading';
}

function noted({ since_message }: RunEvidence): Pick<RunEvidence, 'since_message'> {
  return { since_message: since_message === 'unknown' ? 'unknown' : 'some' };
}

/** States no run of this conversation leaves again by itself or by an answer. */
const FINAL: ReadonlySet<string> = new Set(['finished', 'failed', 'stuck', 'stopped', 'archived']);

/**
 * For `wait --for`: exit code 0 in one of the wanted states; the run's own outcome once none of them can come any
 * more, with `conflict` where that would be 0; null otherwise.
 */
export function judgeFor(conversation: Conversation, evidence: RunEvidence, wanted: readonly string[]): Outcome | null {
  if (isStale(conversation, evidence)) return null;
  if (wanted.includes(conversation.status)) {
    return openOutcome(conversation, evidence, EXIT_CODES.ok, conversation.reason);
  }
  const canBeArchived = wanted.includes('archived') && conversation.status !== 'archived';
  const ended = judge(conversation, evidence);
  if (ended === null || canBeArchived || !FINAL.has(conversation.status)) return null;
  const reason = {
    code: 'not-reached',
    text: `the run is ${conversation.status} and will not be ${wanted.join(' or ')}`,
  };
  return { ...ended, exit_code: ended.exit_code || EXIT_CODES.conflict, reason: conversation.reason ?? reason };
}
