/**
 * The states and inputs of a tracked run, and the table of what each fact means in each phase. `state-machine.ts`
 * applies it; docs/architecture.md explains it.
 */
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import type { FollowItem } from './follow-source.ts';
import type { Outcome, RunEvidence, TrackedRun } from './outcome.ts';

/**
 * `open`: the newest record is not an end. `doubted`: it is one, and the events contradict it. `stable`: that for
 * 1.5 s, or 5 s without an event since the message. `ended`: the outcome is known, and the last events are waited for.
 * `late`: the deadline has passed, and the record is read for the last time.
 */
export type Phase = 'open' | 'doubted' | 'stable' | 'ended' | 'late';

/**
 * What an input shows about the newest record: an end of the run, one that the events contradict, or none (`open`).
 * After an event only `idle` is an end at once: another status is read again. `read nothing`: it cannot be read now, or
 * may recover.
 */
// prettier-ignore
export const FACTS = [
  'event end', 'event contradicted', 'state end', 'state contradicted', 'state open',
  'read end', 'read contradicted', 'read open', 'read nothing', 'sandbox in-progress', 'sandbox nothing',
] as const;
export type Fact = (typeof FACTS)[number];

/**
 * `end`: the outcome of the record; where events are shown, after those before it.
 * `accept`: the same, although the events contradict it. `time-out`: 124; `unseen`: the same, without an answer.
 * `doubt`: the record is read again in 500 ms; `look`: in 250 ms; `await`: 250 ms after the last event; `retry`:
 * in 1 s. `go-on`: the run has not ended. `ask`: whether the sandbox reports that it is in progress. `-`: nothing changes.
 */
export type Decision =
  'end' | 'accept' | 'time-out' | 'unseen' | 'doubt' | 'look' | 'await' | 'retry' | 'go-on' | 'ask' | '-';

// prettier-ignore
const DECISIONS: Readonly<Record<Phase, readonly Decision[]>> = {
  //         event            state                      read                                     sandbox
  //         end    contrad.  end    contrad.  open      end    contrad.  open        nothing     in-progress nothing
  open:    ['end', 'look',   'end', 'doubt',  'go-on',  'end', 'doubt',  'go-on',    'retry',    '-',        '-'],
  doubted: ['end', 'look',   'end', 'doubt',  'go-on',  'end', 'doubt',  'go-on',    'retry',    '-',        '-'],
  stable:  ['end', 'look',   'end', 'doubt',  'go-on',  'end', 'ask',    'go-on',    'retry',    'doubt',    'accept'],
  ended:   ['end', 'await',  'end', '-',      '-',      'end', 'retry',  'retry',    'retry',    '-',        '-'],
  late:    ['-',   '-',      '-',   '-',      '-',      'end', 'ask',    'time-out', 'unseen',   'time-out', 'accept'],
};

export function decisionOn(phase: Phase, fact: Fact): Decision {
  return DECISIONS[phase][FACTS.indexOf(fact)] as Decision;
}

/** What does not change while a run is tracked. Times are milliseconds on the context's clock; Infinity: none. */
export interface Rules {
  judge: (conversation: Conversation, evidence: RunEvidence) => Outcome | null;
  /** The record as it was read before: reported where tracking ends before it has read another. */
  seen: Conversation;
  /** Set where the command has started the run itself: the newest event before it. Only newer ones count. */
  startedAfter?: ConversationEvent | null;
  deadlineMs: number;
  /** The value of `--wait-timeout`, for messages. */
  waitMs: number;
  /** `stop`: the run is stopped after the deadline, and the time for a last look is used for that. */
  atDeadline?: 'look' | 'stop';
  /** No event for this long while running ends it; null: a notice after 10 minutes. */
  failOnStallMs: number | null;
  /** Whether events are shown: the last ones then come before the outcome. */
  showsEvents: boolean;
  /** Whether confirmations are answered while the run is tracked. */
  answers: boolean;
}

/** Times are milliseconds on the context's clock; Infinity: never. */
export interface RunState {
  rules: Rules;
  /** Of the newest input. */
  nowMs: number;
  phase: Phase;
  evidence: RunEvidence;
  lastEvent: ConversationEvent | null;
  /** The newest record; null: none was read since the tracking began. */
  record: Conversation | null;
  /** The newest status from the follower, which has delivered every event before it. */
  delivered: Conversation['status'] | null;
  doubtedSinceMs: number;
  /** When the record is to be read again. */
  readAtMs: number;
  /** In phase `ended`: the outcome. */
  held: TrackedRun | null;
  /** In phase `ended`, until when the last events are waited for; in phase `late`, the end of the last look. */
  untilMs: number;
  /** Infinity once it has passed. */
  deadlineMs: number;
  /** The time of the last event, and when its absence is reported. */
  quietSinceMs: number;
  noticeAtMs: number;
}

export type Input =
  | Exclude<FollowItem, { type: 'notice' }>
  /** The record that the tracker was to read; null: it cannot be read now. */
  | { type: 'read'; conversation: Conversation | null }
  /** Whether the sandbox reports that the run is in progress; false when it does not answer. */
  | { type: 'sandbox'; isInProgress: boolean }
  /** A confirmation that was pending. */
  | { type: 'answered' }
  /** The follower has ended, which it does after a record whose sandbox is gone. */
  | { type: 'over' }
  | { type: 'time' };

/** What the tracker does; except after `end` it then waits for the next input. */
export type Next =
  | { do: 'wait' | 'follow-rest' }
  | { do: 'read' | 'ask-sandbox'; mostMs: number }
  | { do: 'answer' | 'end'; run: TrackedRun };

export interface Step {
  state: RunState;
  next: Next;
  notice: string | null;
}
