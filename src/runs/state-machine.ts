/**
 * A state machine without a clock and without requests. docs/architecture.md explains the table.
 */
import { blankConversation, NO_STATUS, type Conversation } from '../domain/conversation.ts';
import { type ConversationEvent, isUpTo } from '../domain/event.ts';
import { type AppError, EXIT_CODES } from '../base/errors.ts';
import { GRACE_MS } from './deadline.ts';
import {
  deadlinePassed,
  deadlinePassedUnanswered,
  noEvents,
  noEventsNotice,
  NOT_READ,
  afterEvent,
  type EventSummary,
  isOfLatestRun,
  judge,
  NO_EVENTS,
  outcomeOf,
  type TrackedRun,
} from './outcome.ts';
import type { FollowItem } from './follow-source.ts';
import { isUnknown, isWorking } from './status.ts';

/**
 * `unconfirmed`: the events contradict an end. `stable`: they have done so for 1.5 s or 5 s.
 * `late`: last read.
 */
export type Phase = 'open' | 'unconfirmed' | 'stable' | 'late';

/** What an input shows about the newest record. After an event only `idle` is an end at once. */
// prettier-ignore
export const FACTS = [
  'event end', 'event contradicted', 'state end', 'state contradicted', 'state open',
  'sandbox in-progress', 'sandbox nothing',
] as const;
export type Fact = (typeof FACTS)[number];

/**
 * `confirm`: the record is read again in 500 ms; `reread`: in 250 ms. `ask`: asks the sandbox. `-`:
 * no change.
 */
type Decision = 'end' | 'time-out' | 'confirm' | 'reread' | 'continue' | 'ask' | '-';

// prettier-ignore
const DECISIONS: Readonly<Record<Phase, readonly Decision[]>> = {
  //             event              state                         sandbox
  //             end    contrad.    end    contrad.   open        in-progress nothing
  open:        ['end', 'reread',   'end', 'confirm', 'continue', '-',        '-'],
  unconfirmed: ['end', 'reread',   'end', 'confirm', 'continue', '-',        '-'],
  stable:      ['end', 'reread',   'end', 'ask',     'continue', 'confirm',  'end'],
  late:        ['-',   '-',        'end', 'ask',     'time-out', 'time-out', 'end'],
};

export function decisionOn(phase: Phase, fact: Fact): Decision {
  return DECISIONS[phase][FACTS.indexOf(fact)] as Decision;
}

/** Milliseconds. */
const MS = {
  reread: 250,
  confirm: 500,
  /** A status that the events contradict has to be stable for so long. */
  stable: 1_500,
  /** The same without events of the agent since the message. */
  stableWithoutEvents: 5_000,
  quiet: 600_000,
} as const;

/** Times are milliseconds on the context's clock; Infinity: none. */
export interface Rules {
  /** Of `wait --for`. */
  wanted?: readonly string[] | null;
  seen: Conversation;
  /** Set where the command has started the run itself: only newer events count. */
  startedAfter?: ConversationEvent | null;
  deadlineMs: number;
  waitMs: number;
  /**
   * `stop`: the run is stopped after the deadline, and the time for a last read is used for that.
   */
  atDeadline?: 'read' | 'stop';
  /** Null: a notice after 10 minutes. */
  failOnStallMs?: number | null;
  answers: boolean;
}

/** Times are milliseconds on the context's clock; Infinity: never. */
export interface TrackerState {
  rules: Rules;
  nowMs: number;
  phase: Phase;
  summary: EventSummary;
  lastEvent: ConversationEvent | null;
  /** Null: none was read since the tracking began. */
  record: Conversation | null;
  contradictedSinceMs: number;
  readAtMs: number;
  isReading: boolean;
  /** In phase `late`, the end of the last read. */
  untilMs: number;
  /** Infinity once it has passed. */
  deadlineMs: number;
  quietSinceMs: number;
  noticeAtMs: number;
}

export type Input =
  | Exclude<FollowItem, { type: 'notice' }>
  /** False when the sandbox does not answer. */
  | { type: 'sandbox'; isInProgress: boolean }
  | { type: 'answered' }
  | { type: 'over' }
  | { type: 'time' };

export type Next =
  | { do: 'wait' | 'read' | 'last-read' }
  | { do: 'ask-sandbox'; mostMs: number }
  | { do: 'answer' | 'end'; run: TrackedRun };

export interface Step {
  state: TrackerState;
  next: Next;
  notice: string | null;
}

/** `summary` null: the tracker reads the events first. */
export function initialState(
  rules: Rules,
  summary: EventSummary | null,
  nowMs: number,
): TrackerState {
  return {
    rules,
    nowMs,
    phase: 'open',
    summary: summary ?? NO_EVENTS,
    lastEvent: null,
    record: null,
    contradictedSinceMs: nowMs,
    readAtMs: Infinity,
    isReading: false,
    untilMs: Infinity,
    deadlineMs: rules.deadlineMs,
    ...quietFrom(nowMs),
  };
}

export function dueMs(state: TrackerState): number {
  return Math.min(
    state.deadlineMs,
    state.untilMs,
    state.readAtMs,
    state.isReading ? Infinity : quietDueMs(state),
  );
}

/** The status is NOT_READ where the newest record may be of the run before. */
export function newestOf({ record, rules, summary }: TrackerState): Conversation {
  const newest = record ?? rules.seen;
  return isOfLatestRun(newest, summary) ? newest : blankConversation(newest.id, NOT_READ);
}

export function unfinished(state: TrackerState, failure: AppError): TrackedRun {
  const code = failure.details.data?.['reason'];
  const reason = { code: typeof code === 'string' ? code : failure.kind, text: failure.message };
  return { outcome: outcomeOf(newestOf(state), state.summary, failure.exitCode, reason), failure };
}

export function advance(before: TrackerState, input: Input, nowMs: number): Step {
  let { phase } = before;
  if (phase === 'unconfirmed' || phase === 'stable') {
    const limitMs = before.summary.since_message === 'none' ? MS.stableWithoutEvents : MS.stable;
    phase = nowMs - before.contradictedSinceMs < limitMs ? 'unconfirmed' : 'stable';
  }
  const state: TrackerState = { ...before, nowMs, phase };
  switch (input.type) {
    case 'event':
      return onEvent(state, input.event);
    case 'state':
      return onState(state, input.conversation);
    case 'sandbox':
      return decide(state, input.isInProgress ? 'sandbox in-progress' : 'sandbox nothing');
    case 'answered':
      return wait({ ...state, readAtMs: nowMs + MS.reread });
    case 'over':
      return state.phase === 'late'
        ? timeOut(state, deadlinePassedUnanswered)
        : next(state, ended(state));
    case 'time':
      return onTime(state);
  }
}

function onEvent(before: TrackerState, event: ConversationEvent): Step {
  const { record, rules } = before;
  const isOlder = isUpTo(event, rules.startedAfter ?? null);
  const summary = isOlder ? before.summary : afterEvent(before.summary, event);
  const state = { ...before, summary, lastEvent: event, ...quietFrom(before.nowMs) };
  const shown = record === null ? 'open' : judge(record, summary, rules).shown;
  if (shown === 'open') return wait(state);
  return decide(
    state,
    shown === 'end' && record?.status === 'idle' ? 'event end' : 'event contradicted',
  );
}

function onState(before: TrackerState, conversation: Conversation): Step {
  const known = newestOf(before);
  // Where the server has no status now, the status before it still holds.
  const isKept = conversation.status === NO_STATUS && known.status !== NOT_READ;
  const state = { ...before, isReading: false, record: isKept ? known : conversation };
  const step = decide(state, `state ${judge(conversation, state.summary, state.rules).shown}`);
  const quiet = step.next.do === 'wait' ? afterQuiet(step, conversation) : step;
  const { status, reason } = conversation;
  const isNew =
    status === 'running' && reason !== null && reason.code !== before.record?.reason?.code;
  return { ...quiet, notice: quiet.notice ?? (isNew ? reason.text : null) };
}

function onTime(state: TrackerState): Step {
  const { nowMs, rules } = state;
  if (nowMs >= state.deadlineMs) {
    // The machine may have been suspended: the record is read for the last time.
    const after: TrackerState = {
      ...state,
      deadlineMs: Infinity,
      readAtMs: Infinity,
      isReading: true,
    };
    if (rules.atDeadline === 'stop') return timeOut(after, deadlinePassed);
    return next({ ...after, phase: 'late', untilMs: nowMs + GRACE_MS }, { do: 'last-read' });
  }
  if (nowMs >= state.untilMs) return timeOut(state, deadlinePassedUnanswered);
  return nowMs < dueMs(state)
    ? wait(state)
    : next({ ...state, readAtMs: Infinity, isReading: true }, { do: 'read' });
}

function decide(state: TrackerState, fact: Fact): Step {
  const { nowMs, phase, readAtMs, untilMs, rules } = state;
  switch (decisionOn(phase, fact)) {
    case 'end': {
      const end = ended(state);
      // While a confirmation is answered the run is tracked further, until the deadline.
      if (end.run.outcome.status !== 'waiting' || !rules.answers || nowMs >= rules.deadlineMs)
        return next(state, end);
      const open = { ...state, phase: 'open', readAtMs: Infinity, ...quietFrom(nowMs) } as const;
      return next(open, { do: 'answer', run: end.run });
    }
    case 'time-out':
      return timeOut(state, deadlinePassed);
    case 'confirm': {
      const contradictedSinceMs = phase === 'open' ? nowMs : state.contradictedSinceMs;
      return wait({
        ...state,
        phase: 'unconfirmed',
        contradictedSinceMs,
        readAtMs: nowMs + MS.confirm,
      });
    }
    case 'reread':
      return wait({ ...state, readAtMs: Math.min(readAtMs, nowMs + MS.reread) });
    case 'continue':
      return wait({ ...state, phase: 'open', readAtMs: Infinity });
    case 'ask':
      return next(state, {
        do: 'ask-sandbox',
        mostMs: phase === 'late' ? untilMs - nowMs : GRACE_MS,
      });
    case '-':
      return wait(state);
  }
}

function next(state: TrackerState, then: Next): Step {
  return { state, next: then, notice: null };
}

function wait(state: TrackerState): Step {
  return next(state, { do: 'wait' });
}

function ended(state: TrackerState): { do: 'end'; run: TrackedRun } {
  const { rules, summary } = state;
  const record = state.record ?? rules.seen;
  const reason = { code: record.status, text: `the conversation is ${record.status}` };
  const outcome =
    judge(record, summary, rules).outcome ??
    outcomeOf(record, summary, EXIT_CODES.conflict, reason);
  return { do: 'end', run: { outcome, failure: null, record } };
}

function timeOut(
  state: TrackerState,
  failure: (newest: Conversation, waitMs: number) => AppError,
): Step {
  return next(state, {
    do: 'end',
    run: unfinished(state, failure(newestOf(state), state.rules.waitMs)),
  });
}

function quietFrom(nowMs: number): Pick<TrackerState, 'quietSinceMs' | 'noticeAtMs'> {
  return { quietSinceMs: nowMs, noticeAtMs: nowMs + MS.quiet };
}

function quietDueMs({ phase, rules, quietSinceMs, noticeAtMs }: TrackerState): number {
  return phase === 'late'
    ? Infinity
    : Math.min(noticeAtMs, quietSinceMs + (rules.failOnStallMs ?? Infinity));
}

function afterQuiet(step: Step, conversation: Conversation): Step {
  const { state } = step;
  const { nowMs, quietSinceMs, lastEvent, rules } = state;
  if (nowMs < quietDueMs(state)) return step;
  const quietMs = nowMs - quietSinceMs;
  const limitMs = rules.failOnStallMs ?? Infinity;
  if (quietMs >= limitMs && isWorking(conversation.status))
    return next(state, {
      do: 'end',
      run: unfinished(state, noEvents(conversation, limitMs, lastEvent)),
    });
  if (quietMs >= limitMs) return wait({ ...state, ...quietFrom(nowMs) });
  // An old server may report `starting` for the whole run, and a later one a status that acs does
  // not know.
  const isReported = isWorking(conversation.status) || isUnknown(conversation.status);
  const notice = isReported ? noEventsNotice(conversation, quietMs, lastEvent) : null;
  return { ...step, state: { ...state, noticeAtMs: nowMs + MS.quiet }, notice };
}
