import {
  blankConversation,
  type Conversation,
  type ConversationStatus,
  type Reason,
} from '../domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../domain/event.ts';
import { AppError, EXIT_CODES } from '../base/errors.ts';
import { formatDuration } from '../base/text/time.ts';
import {
  type End,
  endOfStatus,
  endWith,
  hasEnded,
  hasStopped,
  isFinal,
  isUnknown,
  isWorking,
} from './status.ts';

export interface EventSummary {
  last_event_id: string | null;
  /** `none`: the user's message is the newest event of the run. */
  since_message: 'unknown' | 'none' | 'some';
  rejected: boolean;
  in_progress: boolean;
  /** V0: the agent has not answered, and its newest status is to await the user. */
  awaits_user: boolean;
}

export const NO_EVENTS: EventSummary = {
  last_event_id: null,
  since_message: 'unknown',
  rejected: false,
  in_progress: false,
  awaits_user: false,
};

const CHANGES: Readonly<Record<RunSignal, Partial<EventSummary>>> = {
  message: { since_message: 'none', rejected: false, in_progress: false, awaits_user: false },
  activity: { since_message: 'some', rejected: false },
  rejection: { since_message: 'some', rejected: true },
  'status:running': {
    since_message: 'some',
    in_progress: true,
    awaits_user: false,
    rejected: false,
  },
  'status:starting': { since_message: 'some', in_progress: true, awaits_user: false },
  'status:rejected': {
    since_message: 'some',
    in_progress: false,
    awaits_user: false,
    rejected: true,
  },
  'status:awaiting-user': { since_message: 'some', in_progress: false, awaits_user: true },
  'status:other': { since_message: 'some', in_progress: false, awaits_user: false },
};

export function afterEvent(before: EventSummary, { id, signal }: ConversationEvent): EventSummary {
  const same = { ...before, last_event_id: id };
  if (signal === null) return same;
  const next = { ...same, ...CHANGES[signal] };
  // Without a message there is no run: an agent that was just created awaits the user as well.
  if (signal === 'message' || before.since_message !== 'unknown') return next;
  return { ...next, since_message: 'unknown', awaits_user: false };
}

export function beforeRun(lastEventId: string | null): EventSummary {
  return { ...NO_EVENTS, last_event_id: lastEventId, since_message: 'none' };
}

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

export interface TrackedRun {
  outcome: Outcome;
  /** Set when tracking has ended before the run; its exit code is the outcome's. */
  failure: AppError | null;
  record?: Conversation;
}

export function outcomeOf(
  {
    id,
    status,
    waiting_for,
    cost_usd,
  }: Pick<Conversation, 'id' | 'status' | 'waiting_for' | 'cost_usd'>,
  { last_event_id }: EventSummary,
  exit_code: number,
  reason: Reason | null,
): Outcome {
  return {
    type: 'outcome',
    conversation_id: id,
    status,
    reason,
    waiting_for,
    exit_code,
    cost_usd,
    last_event_id,
  };
}

type Judgement =
  { shown: 'end' | 'contradicted'; outcome: Outcome } | { shown: 'open'; outcome: null };

/** `contradicted`: the events contradict the end. With `wanted`, such a status is an end. */
export function judge(
  record: Conversation,
  summary: EventSummary,
  {
    wanted = null,
    startedAfter,
  }: { wanted?: readonly string[] | null; startedAfter?: ConversationEvent | null } = {},
): Judgement {
  const { status, sandbox_status } = record;
  const open = { shown: 'open', outcome: null } as const;
  const isWanted = wanted?.includes(status) === true;
  const outcome = isWanted
    ? outcomeOf(record, summary, EXIT_CODES.ok, record.reason)
    : endingOutcome(record, summary, wanted);
  if (outcome === null) return open;
  const mayStillStart = status === 'idle' && !isWanted && !summary.rejected;
  if (isOfLatestRun(record, summary) && !mayStillStart) return { shown: 'end', outcome };
  // Before the first event of its own run, a running sandbox keeps the status of the run before.
  const isOfRunBefore = startedAfter !== undefined && summary.since_message === 'none';
  if (isOfRunBefore && sandbox_status === 'running') return open;
  return { shown: 'contradicted', outcome };
}

/** `idle` alone does not end a run: a new conversation has this status too. */
function endingOutcome(
  record: Conversation,
  summary: EventSummary,
  wanted: readonly string[] | null,
): Outcome | null {
  const { status } = record;
  const end = status === 'idle' ? endOfIdle(summary) : endOfStatus(status);
  if (end === null) return null;
  const ended = { ...record, waiting_for: end.waitingFor };
  const code = EXIT_CODES[end.kind];
  if (wanted === null) return outcomeOf(ended, summary, code, record.reason ?? end.reason);
  // Whatever the run is, its sandbox may be archived.
  if (wanted.includes('archived') || !isFinal(status)) return null;
  const text = `the run is ${status} and will not be ${wanted.join(' or ')}`;
  const reason = record.reason ?? { code: 'not-reached', text };
  return outcomeOf(ended, summary, code || EXIT_CODES.conflict, reason);
}

export function deletedOutcome(conversationId: string, summary: EventSummary): Outcome {
  const reason = { code: 'deleted', text: 'the conversation was deleted' };
  return outcomeOf(
    blankConversation(conversationId, 'deleted'),
    summary,
    EXIT_CODES['not-found'],
    reason,
  );
}

const REJECTED = endWith(
  'needs-input',
  'rejected',
  'an action was rejected; the agent waits for a message',
  'user',
);
const NO_ANSWER = 'the agent stopped without an answer and waits for a message';
const AWAITS_USER = endWith('needs-input', 'awaiting-user', NO_ANSWER, 'user');

function endOfIdle({ rejected, awaits_user }: EventSummary): End | null {
  if (rejected) return REJECTED;
  return awaits_user ? AWAITS_USER : null;
}

/** False where the status may be older than the newest event: not where the sandbox has failed. */
export function isOfLatestRun(
  { status, sandbox_status }: Conversation,
  { since_message, in_progress }: EventSummary,
): boolean {
  if (isWorking(status) || status === 'archived') return true;
  if (status === 'failed' && sandbox_status === 'error') return true;
  return since_message !== 'none' && !in_progress;
}

const RANKED_CODES: readonly number[] = [0, 8, 6, 5, 1];

/** The worst first: a signal, 124, a code that no run ends with, 1, 5, 6, 8; 0 for none. */
export function worstCode(codes: readonly number[]): number {
  const rank = (code: number): number => {
    if (code >= EXIT_CODES.timeout) return code === EXIT_CODES.timeout ? 6 : 7;
    return RANKED_CODES.includes(code) ? RANKED_CODES.indexOf(code) : 5;
  };
  return codes.reduce((worst, code) => (rank(code) > rank(worst) ? code : worst), 0);
}

export const NOT_READ = 'unknown(not-read)';

export function deadlinePassed({ id, status }: Conversation, waitMs: number): AppError {
  const passed = formatDuration(waitMs);
  const text =
    status === NOT_READ
      ? `after ${passed} conversation ${id} shows no status of the requested run`
      : `conversation ${id} is still ${status} after ${passed}; it ${future(status)}`;
  return timeout(text, 'timeout', { id, status }, nextSteps(id, status));
}

export function deadlinePassedUnanswered({ id, status }: Conversation, waitMs: number): AppError {
  const text =
    `the server did not answer within ${formatDuration(waitMs)}; the last known status of ` +
    `conversation ${id} is ${status}`;
  return timeout(text, 'timeout', { id, status }, showStatus(id));
}

export function noEvents(
  { id, status }: Conversation,
  quietMs: number,
  last: ConversationEvent | null,
): AppError {
  const text = `no event of conversation ${id} for ${formatDuration(quietMs)}${lastOf(last)}`;
  return timeout(text, 'no-events', { id, status }, nextSteps(id, status));
}

export function noEventsNotice(
  { id, status }: Conversation,
  quietMs: number,
  last: ConversationEvent | null,
): string {
  const quiet = formatDuration(Math.floor(quietMs / 60_000) * 60_000);
  const state = status === 'running' ? '' : `, and its status is ${status}`;
  return `no event of ${id} for ${quiet}${state}${lastOf(last)}`;
}

function lastOf(event: ConversationEvent | null): string {
  return event === null ? '' : `; the last was: ${event.text}`;
}

function timeout(
  text: string,
  reason: string,
  { id, status }: Pick<Conversation, 'id' | 'status'>,
  hint: string,
): AppError {
  return new AppError('timeout', text, { hint, data: { reason, id, last_status: status } });
}

export function interruption(error: AppError, { id, status }: Conversation): AppError {
  const isKnown = status !== NOT_READ;
  const state = isKnown ? `(${status}) ${future(status)}` : 'continues';
  return new AppError('interrupted', `${error.message}; conversation ${id} ${state}`, {
    ...error.details,
    exitCode: error.exitCode,
    hint: nextSteps(id, status),
    data: { reason: 'interrupted', id, ...(isKnown && { last_status: status }) },
  });
}

/** A stop changes nothing for a V1 run that awaits approval: the agent is not working. */
export function staysWaiting(id: string): string {
  return `conversation ${id} waits for a confirmation and does not run until it is answered`;
}

function future(status: ConversationStatus): string {
  if (hasEnded(status)) return 'has ended';
  return hasStopped(status) && !isUnknown(status) && status !== 'deleting'
    ? 'does not change by itself'
    : 'continues';
}

function nextSteps(id: string, status: ConversationStatus): string {
  if (hasEnded(status)) return showStatus(id);
  const end =
    status === 'waiting' ? `answer it: acs conv confirm ${id}` : `stop it: acs conv stop ${id}`;
  return `follow it: acs conv follow ${id}\n${end}`;
}

function showStatus(id: string): string {
  return `see its status: acs conv show ${id}`;
}
