/** Options and result of the tracker, and its times. */
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import type { RunEvidence } from './evidence.ts';
import type { Outcome } from './outcome.ts';
import type { AppError } from '../errors.ts';
import type { FollowOptions } from './follow-source.ts';

/** The times of the tracker, in milliseconds. */
export const TRACK_MS = {
  /** From an event that may have ended the run to the next read of its status. */
  soon: 250,
  /** A status that the events contradict has to be stable for so long, with events of the agent since the message. */
  doubt: 1_500,
  /** The same without such events. */
  doubtWithoutEvents: 5_000,
  /** After the deadline the events of a run that has ended are read for so long at most. */
  eventsAfterDeadline: 2_000,
  /** The last events may take so long when the record shows the end before the follower does. */
  lastEvents: 10_000,
} as const;

/** Answers confirmations while a run is tracked. */
export interface Answerer {
  /** Called when the run waits. `answered`: by this client or another; `left`: the confirmation stays pending. */
  onWaiting(): Promise<'answered' | 'left'>;
  /** Called before an event is shown: closes an open question that another client has answered. */
  onHappened(): Promise<void>;
  /** Closes an open question without an answer. */
  close(): void;
}

export interface TrackOptions {
  evidence: RunEvidence;
  /** The record as it was read before: reported where tracking ends before it has read another. */
  seen?: Conversation;
  /** Where to start, inclusive; null: at the beginning. */
  since: string | null;
  afterEventId?: string;
  /** Set where the command has started the run itself: the newest event before it. Only newer ones count. */
  startedAfter?: ConversationEvent | null;
  /** On the context's clock; Infinity: none. */
  deadlineMs: number;
  /** The value of `--wait-timeout`, for messages. */
  waitMs: number;
  /** `stop`: the run is stopped after the deadline, and the time for a last look is used for that. */
  atDeadline?: 'look' | 'stop';
  /** No event for this long while running ends it; null: a notice after 10 minutes. */
  failOnStallMs: number | null;
  /** Without it a pending confirmation ends the tracking. */
  answer?: Answerer | undefined;
  judge?: (conversation: Conversation, evidence: RunEvidence) => Outcome | null;
  /** Also ends the tracking, for example when another run has ended first. */
  signal?: AbortSignal;
  onEvent?: (event: ConversationEvent) => Promise<void>;
  /** `perhaps-older`: the state may be the one of the run before. */
  onState?: (conversation: Conversation, run: 'latest' | 'perhaps-older') => void;
  onNotice?: (text: string) => Promise<void>;
}

/** `failure` when tracking has ended before the run: by a deadline, a silence or a signal. */
export interface TrackedRun {
  outcome: Outcome;
  failure: AppError | null;
  /** The record that was judged; it has the metrics, unless the run is idle. */
  record?: Conversation;
}

export function placeToStart(
  { since, afterEventId }: Pick<TrackOptions, 'since' | 'afterEventId'>,
  signal: AbortSignal,
): FollowOptions {
  return {
    ...(since === null ? {} : { since }),
    ...(afterEventId === undefined ? {} : { afterEventId }),
    signal,
  };
}
