/**
 * How a tracked run is judged: a state machine without a clock and without requests. Each input (an event, a record, an
 * answer, the time) gives the next state, and what the tracker does next.
 */
import { blankConversation, NO_STATUS, type Conversation } from '../domain/conversation.ts';
import { type ConversationEvent, isUpTo } from '../domain/event.ts';
import { type AppError, EXIT_CODES } from '../errors.ts';
import { LAST_LOOK_MS } from './deadline.ts';
import { deadlinePassed, deadlinePassedUnseen, noEvents, noEventsNotice, NOT_READ } from './endings.ts';
import {
  afterEvent,
  isOfLatestRun,
  type Outcome,
  outcomeOf,
  type RunEvidence,
  type TrackedRun,
  withoutContradiction,
} from './outcome.ts';
import { isUnknown, isWorking } from './status.ts';
import {
  decisionOn,
  type Fact,
  type Input,
  type Next,
  type Phase,
  type Rules,
  type RunState,
  type Step,
} from './transitions.ts';

/** The times of the machine, in milliseconds. */
const MS = {
  /** From an event that may have ended the run to the next read of its record. */
  soon: 250,
  /** Between two reads of a record that the events contradict. */
  doubt: 500,
  /** From a read that failed to the next. */
  retry: 1_000,
  /** A status that the events contradict has to be stable for so long, with events of the agent since the message. */
  stable: 1_500,
  /** The same without such events. */
  stableWithoutEvents: 5_000,
  /** After the deadline the events of a run that has ended are read for so long at most. */
  eventsAfterDeadline: 2_000,
  /** The last events may take so long when the record shows the end before the follower does. */
  lastEvents: 10_000,
  /** A run in progress without an event for so long is reported. */
  quiet: 600_000,
} as const;

export function initialState(rules: Rules, evidence: RunEvidence, nowMs: number): RunState {
  return {
    rules,
    nowMs,
    phase: 'open',
    evidence,
    lastEvent: null,
    record: null,
    delivered: null,
    doubtedSinceMs: nowMs,
    readAtMs: Infinity,
    held: null,
    untilMs: Infinity,
    deadlineMs: rules.deadlineMs,
    ...quietFrom(nowMs),
  };
}

/** When the time is the next input, if nothing else comes before. */
export function dueMs(state: RunState): number {
  return Math.min(state.deadlineMs, state.untilMs, state.readAtMs, quietDueMs(state));
}

/** The newest record of the latest run; its status is NOT_READ where the newest that was read may be of the run before. */
export function newestOf(state: RunState): Conversation {
  const newest = recordOf(state);
  return isOfLatestRun(newest, state.evidence) ? newest : blankConversation(newest.id, NOT_READ);
}

/** The result of tracking that ends before the run. */
export function unfinished(state: RunState, failure: AppError): TrackedRun {
  const code = failure.details.data?.['reason'];
  const reason = { code: typeof code === 'string' ? code : failure.kind, text: failure.message };
  return { outcome: outcomeOf(newestOf(state), state.evidence, failure.exitCode, reason), failure };
}

export function advance(before: RunState, input: Input, nowMs: number): Step {
  const state: RunState = { ...before, nowMs, phase: phaseAt(before, nowMs) };
  switch (input.type) {
    case 'event':
      return onEvent(state, input.event);
    case 'state':
      return onState(state, input.conversation);
    case 'read':
      return onRead(state, input.conversation);
    case 'sandbox':
      return decide(state, input.isInProgress ? 'sandbox in-progress' : 'sandbox nothing');
    case 'answered':
      return wait({ ...state, readAtMs: nowMs + MS.soon });
    case 'over':
      return next(state, { do: 'end', run: state.held ?? runOf(state) });
    case 'time':
      return onTime(state);
  }
}

/** A doubted record becomes stable with time, and is doubted again when a message comes. */
function phaseAt({ phase, doubtedSinceMs, evidence }: RunState, nowMs: number): Phase {
  if (phase !== 'doubted' && phase !== 'stable') return phase;
  const limitMs = evidence.since_message === 'none' ? MS.stableWithoutEvents : MS.stable;
  return nowMs - doubtedSinceMs < limitMs ? 'doubted' : 'stable';
}

function onEvent(before: RunState, event: ConversationEvent): Step {
  const isOlder = isUpTo(event, before.rules.startedAfter ?? null);
  const evidence = isOlder ? before.evidence : afterEvent(before.evidence, event);
  const state = { ...before, evidence, lastEvent: event, ...quietFrom(before.nowMs) };
  if (state.record === null) return wait(state);
  const verdict = verdictOn(state, state.record);
  if (verdict === 'open') return wait(state);
  return decide(state, verdict === 'end' && state.record.status === 'idle' ? 'event end' : 'event contradicted');
}

function onState(before: RunState, conversation: Conversation): Step {
  const { status, reason } = conversation;
  const state = { ...before, record: conversation, delivered: status };
  // The run has not ended and does nothing: the reason is shown.
  const isNews = status === 'running' && reason !== null && reason.code !== before.record?.reason?.code;
  return { ...decide(state, `state ${verdictOn(state, conversation)}`), notice: isNews ? reason.text : null };
}

function onRead(before: RunState, conversation: Conversation | null): Step {
  // After the deadline nothing more is waited for: the status counts as it is.
  const mayRecover = conversation?.may_recover && before.delivered !== conversation.status && before.phase !== 'late';
  if (conversation === null || mayRecover) return afterQuiet(decide(before, 'read nothing'), null);
  const known = newestOf(before);
  // Where the server has no status now, the status before it still holds.
  const isKept = conversation.status === NO_STATUS && known.status !== NOT_READ;
  const state = { ...before, record: isKept ? known : conversation };
  return afterQuiet(decide(state, `read ${verdictOn(state, conversation)}`), conversation);
}

function onTime(state: RunState): Step {
  if (state.nowMs >= state.deadlineMs) return onDeadline({ ...state, deadlineMs: Infinity });
  if (state.held !== null && state.nowMs >= state.untilMs) return end(state, state.held);
  return state.nowMs >= dueMs(state) ? read(state) : wait(state);
}

/** The deadline has aborted the follower. The machine may have been suspended: the record is read for the last time. */
function onDeadline(state: RunState): Step {
  if (state.held !== null) return followRest(state, state.held);
  if (state.rules.atDeadline === 'stop') return timeOut(state, deadlinePassed);
  return read({ ...state, phase: 'late', untilMs: state.nowMs + LAST_LOOK_MS });
}

function verdictOn(state: RunState, record: Conversation): 'end' | 'contradicted' | 'open' {
  if (state.rules.judge(record, state.evidence) !== null) return 'end';
  return acceptedOf(state, record) === null ? 'open' : 'contradicted';
}

/**
 * The outcome of a record that the events contradict. For a run that the command has started itself, and that has no
 * event yet, the status in a running sandbox is that of the run before, however long it is stable.
 */
function acceptedOf({ rules, evidence }: RunState, record: Conversation): Outcome | null {
  const isOwn = rules.startedAfter !== undefined && evidence.since_message === 'none';
  return isOwn && record.sandbox_status === 'running' ? null : rules.judge(record, withoutContradiction(evidence));
}

function decide(state: RunState, fact: Fact): Step {
  const { nowMs, phase, readAtMs, untilMs } = state;
  switch (decisionOn(phase, fact)) {
    case 'end':
      return hold(state, runOf(state));
    case 'accept':
      return phase === 'late' ? followRest(state, runOf(state)) : hold(state, runOf(state));
    case 'time-out':
      return timeOut(state, deadlinePassed);
    case 'unseen':
      return timeOut(state, deadlinePassedUnseen);
    case 'doubt': {
      const doubtedSinceMs = phase === 'open' ? nowMs : state.doubtedSinceMs;
      return wait({ ...state, phase: 'doubted', doubtedSinceMs, readAtMs: nowMs + MS.doubt });
    }
    case 'look':
      return wait({ ...state, readAtMs: Math.min(readAtMs, nowMs + MS.soon) });
    case 'await':
      return wait({ ...state, readAtMs: nowMs + MS.soon });
    case 'retry':
      // A read that was due for another reason leaves it as it is.
      return wait({ ...state, readAtMs: nowMs < readAtMs ? readAtMs : nowMs + MS.retry });
    case 'go-on':
      return wait({ ...state, phase: 'open', readAtMs: Infinity });
    case 'ask':
      return next(state, { do: 'ask-sandbox', mostMs: phase === 'late' ? untilMs - nowMs : LAST_LOOK_MS });
    case '-':
      return wait(state);
  }
}

function next(state: RunState, then: Next): Step {
  return { state, next: then, notice: null };
}

function wait(state: RunState): Step {
  return next(state, { do: 'wait' });
}

function read(state: RunState): Step {
  return next(state, { do: 'read', mostMs: Math.min(state.untilMs, state.deadlineMs) - state.nowMs });
}

function recordOf({ record, rules }: RunState): Conversation {
  return record ?? rules.seen;
}

function runOf(state: RunState): TrackedRun {
  const record = recordOf(state);
  const outcome = state.rules.judge(record, state.evidence) ?? acceptedOf(state, record);
  const reason = { code: record.status, text: `the conversation is ${record.status}` };
  const unclear = (): Outcome => outcomeOf(record, state.evidence, EXIT_CODES.conflict, reason);
  return { outcome: outcome ?? unclear(), failure: null, record };
}

/** While a confirmation is answered the run is tracked further, until the deadline. */
function end(state: RunState, run: TrackedRun): Step {
  const { rules, nowMs } = state;
  if (run.outcome.status !== 'waiting' || !rules.answers || nowMs >= rules.deadlineMs)
    return next(state, { do: 'end', run });
  const open = { phase: 'open', held: null, untilMs: Infinity, readAtMs: Infinity } as const;
  return next({ ...state, ...open, ...quietFrom(nowMs) }, { do: 'answer', run });
}

/** The outcome, once the events before it are shown: the follower has delivered the status itself, or is waited for. */
function hold(state: RunState, run: TrackedRun): Step {
  const isFollowed = isFollowing(state) && state.rules.showsEvents;
  return isFollowed && run.outcome.status !== state.delivered
    ? wait(ended(state, run, MS.lastEvents))
    : end(state, run);
}

function isFollowing({ phase }: RunState): boolean {
  return phase === 'open' || phase === 'doubted' || phase === 'stable';
}

/** After the deadline has aborted the follower: another one starts after the last event. */
function followRest(state: RunState, run: TrackedRun): Step {
  if (!state.rules.showsEvents) return end(state, run);
  const mostMs = Math.min(MS.eventsAfterDeadline, state.untilMs - state.nowMs);
  return next(ended(state, run, mostMs), { do: 'follow-rest' });
}

function ended(state: RunState, held: TrackedRun, mostMs: number): RunState {
  return { ...state, phase: 'ended', held, untilMs: state.nowMs + mostMs, readAtMs: Infinity };
}

function timeOut(state: RunState, failure: (newest: Conversation, waitMs: number) => AppError): Step {
  return next(state, { do: 'end', run: unfinished(state, failure(newestOf(state), state.rules.waitMs)) });
}

function quietFrom(nowMs: number): Pick<RunState, 'quietSinceMs' | 'noticeAtMs'> {
  return { quietSinceMs: nowMs, noticeAtMs: nowMs + MS.quiet };
}

function quietDueMs(state: RunState): number {
  const { rules, quietSinceMs, noticeAtMs } = state;
  return isFollowing(state) ? Math.min(noticeAtMs, quietSinceMs + (rules.failOnStallMs ?? Infinity)) : Infinity;
}

/** After a read that has not ended the run: a long time without an event is reported, or ends the tracking. */
function afterQuiet(step: Step, conversation: Conversation | null): Step {
  const { state } = step;
  const { nowMs, quietSinceMs, lastEvent, rules } = state;
  if (step.next.do !== 'wait' || nowMs < quietDueMs(state)) return step;
  const quietMs = nowMs - quietSinceMs;
  const limitMs = rules.failOnStallMs ?? Infinity;
  if (conversation !== null && quietMs >= limitMs && isWorking(conversation.status))
    return next(state, { do: 'end', run: unfinished(state, noEvents(conversation, limitMs, lastEvent)) });
  if (conversation === null || quietMs >= limitMs) return wait({ ...state, ...quietFrom(nowMs) });
  // An old server may report `starting` for the whole run, and a later one a word that acs does not know.
  const isReported = isWorking(conversation.status) || isUnknown(conversation.status);
  const notice = isReported ? noEventsNotice(conversation, quietMs, lastEvent) : null;
  return { ...step, state: { ...state, noticeAtMs: nowMs + MS.quiet }, notice };
}
