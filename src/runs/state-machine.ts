/** Has neither a clock nor requests. docs/architecture.md explains the table. */
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

/** `unconfirmed`: the events contradict an end; `stable`: for 1.5 or 5 s; `late`: last read. */
export type Phase = 'open' | 'unconfirmed' | 'stable' | 'late';

/** What an input shows about the newest record. */
// prettier-ignore
export const FACTS = [
  'event end', 'event contradicted', 'state end', 'state contradicted', 'state open',
  'sandbox in-progress', 'sandbox nothing',
] as const;
export type Fact = (typeof FACTS)[number];

/** `confirm`: read the record again in 500 ms; `reread`: in 250 ms; `ask`: ask the sandbox. */
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

const MS = {
  reread: 250,
  confirm: 500,
  stable: 1_500,
  /** Without an event of the agent since the message. */
  stableWithoutEvents: 5_000,
  quiet: 600_000,
} as const;

/** Times are milliseconds on the context's clock; Infinity: none. */
export interface Rules {
  wanted?: readonly string[] | null;
  seen: Conversation;
  /** Set where the command has started the run itself: only newer events count. */
  startedAfter?: ConversationEvent | null;
  deadlineMs: number;
  waitMs: number;
  /** `stop`: the caller stops the run in the time for a last read. */
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
  | Exclude<FollowItem, { type: 'notice' | 'partial' }>
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
  const quietMs = state.isReading ? Infinity : quietDueMs(state);
  return Math.min(state.deadlineMs, state.untilMs, state.readAtMs, quietMs);
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
  const state: TrackerState = { ...before, nowMs, phase: phaseAt(before, nowMs) };
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
        : next(state, { do: 'end', run: endedRun(state) });
    case 'time':
      return onTime(state);
  }
}

/** An unconfirmed record becomes stable with the time. */
function phaseAt({ phase, summary, contradictedSinceMs }: TrackerState, nowMs: number): Phase {
  if (phase === 'open' || phase === 'late') return phase;
  const limitMs = summary.since_message === 'none' ? MS.stableWithoutEvents : MS.stable;
  return nowMs - contradictedSinceMs < limitMs ? 'unconfirmed' : 'stable';
}

function onEvent(before: TrackerState, event: ConversationEvent): Step {
  const { record, rules } = before;
  const isOlder = isUpTo(event, rules.startedAfter ?? null);
  const summary = isOlder ? before.summary : afterEvent(before.summary, event);
  const state = { ...before, summary, lastEvent: event, ...quietFrom(before.nowMs) };
  const shown = record === null ? 'open' : judge(record, summary, rules).shown;
  if (shown === 'open') return wait(state);
  const isEnd = shown === 'end' && record?.status === 'idle';
  return decide(state, isEnd ? 'event end' : 'event contradicted');
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
    const after = { ...state, deadlineMs: Infinity, readAtMs: Infinity, isReading: true };
    if (rules.atDeadline === 'stop') return timeOut(after, deadlinePassed);
    return next({ ...after, phase: 'late', untilMs: nowMs + GRACE_MS }, { do: 'last-read' });
  }
  if (nowMs >= state.untilMs) return timeOut(state, deadlinePassedUnanswered);
  return nowMs < dueMs(state)
    ? wait(state)
    : next({ ...state, readAtMs: Infinity, isReading: true }, { do: 'read' });
}

function decide(state: TrackerState, fact: Fact): Step {
  const { nowMs, phase, readAtMs, untilMs } = state;
  switch (decisionOn(phase, fact)) {
    case 'end':
      return endOrAnswer(state);
    case 'time-out':
      return timeOut(state, deadlinePassed);
    case 'confirm':
      return wait({
        ...state,
        phase: 'unconfirmed',
        contradictedSinceMs: phase === 'open' ? nowMs : state.contradictedSinceMs,
        readAtMs: nowMs + MS.confirm,
      });
    case 'reread':
      return wait({ ...state, readAtMs: Math.min(readAtMs, nowMs + MS.reread) });
    case 'continue':
      return wait({ ...state, phase: 'open', readAtMs: Infinity });
    case 'ask': {
      const mostMs = phase === 'late' ? untilMs - nowMs : GRACE_MS;
      return next(state, { do: 'ask-sandbox', mostMs });
    }
    case '-':
      return wait(state);
  }
}

/** While a confirmation is answered the run is tracked further, until the deadline. */
function endOrAnswer(state: TrackerState): Step {
  const { nowMs, rules } = state;
  const run = endedRun(state);
  const mayContinue = rules.answers && nowMs < rules.deadlineMs;
  if (run.outcome.status !== 'waiting' || !mayContinue) return next(state, { do: 'end', run });
  const open = { ...state, phase: 'open', readAtMs: Infinity, ...quietFrom(nowMs) } as const;
  return next(open, { do: 'answer', run });
}

function next(state: TrackerState, then: Next): Step {
  return { state, next: then, notice: null };
}

function wait(state: TrackerState): Step {
  return next(state, { do: 'wait' });
}

function endedRun(state: TrackerState): TrackedRun {
  const { rules, summary } = state;
  const record = state.record ?? rules.seen;
  const reason = { code: record.status, text: `the conversation is ${record.status}` };
  const outcome =
    judge(record, summary, rules).outcome ??
    outcomeOf(record, summary, EXIT_CODES.conflict, reason);
  return { outcome, failure: null, record };
}

type Failure = (newest: Conversation, waitMs: number) => AppError;

function timeOut(state: TrackerState, failure: Failure): Step {
  const run = unfinished(state, failure(newestOf(state), state.rules.waitMs));
  return next(state, { do: 'end', run });
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
  const working = isWorking(conversation.status);
  if (quietMs >= limitMs)
    return working
      ? next(state, {
          do: 'end',
          run: unfinished(state, noEvents(conversation, limitMs, lastEvent)),
        })
      : wait({ ...state, ...quietFrom(nowMs) });
  // An old server may report `starting` for the whole run, a later one a status unknown to acs.
  const isReported = working || isUnknown(conversation.status);
  const notice = isReported ? noEventsNotice(conversation, quietMs, lastEvent) : null;
  return { ...step, state: { ...state, noticeAtMs: nowMs + MS.quiet }, notice };
}
