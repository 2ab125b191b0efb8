/** What a watch of a run is told, and what it gives back. */
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { RunEvidence } from '../../runs/evidence.ts';
import type { Outcome } from '../../runs/outcome.ts';
import type { AppError } from '../../errors.ts';
import type { FollowOptions } from '../../servers/server.ts';

/** After an event that may have ended the run. */
export const SOON_MS = 250;
/** How long a doubtful state has to stand: once the agent has been seen at work, and before. */
export const DOUBT_MS = { some: 1_500, none: 5_000 };
/** After the deadline the events of a run that has ended are read for so long at most. */
export const CATCH_UP_MS = 2_000;
/** How long the events may take that come before an end the watch has seen by itself. */
export const EVENTS_MS = 10_000;

/** Answers confirmations while a run is watched. */
export interface Answerer {
  /** Called when the run waits. `answered`: it goes on, whoever answered; `left`: it shall go on waiting. */
  onWaiting(): Promise<'answered' | 'left'>;
  /** Something happened in the run: an open question that was answered elsewhere closes before that is shown. */
  onHappened(): Promise<void>;
  /** Takes an open question back. */
  close(): void;
}

export interface WatchOptions {
  evidence: RunEvidence;
  /** As it was read before the watch: told where the watch ends before it has seen more. */
  seen?: Conversation;
  /** Where to start, inclusive; null: at the beginning. */
  since: string | null;
  afterEventId?: string;
  /** Set where the command has started the run itself: the newest event before it. Only newer ones count. */
  startedAfter?: ConversationEvent | null;
  /** On the context's clock; Infinity: none. */
  deadlineMs: number;
  /** How long the command was told to wait, for the message. */
  waitMs: number;
  /** `stop`: the run is stopped after the deadline, and the time for a last look is used for that. */
  atDeadline?: 'look' | 'stop';
  /** No event for this long while running ends it; null: a notice after 10 minutes. */
  failOnStallMs: number | null;
  /** Without it a confirmation that waits ends the watch. */
  answer?: Answerer | undefined;
  judge?: (conversation: Conversation, evidence: RunEvidence) => Outcome | null;
  /** Also ends the watch, e.g. when another run ended first. */
  signal?: AbortSignal;
  onEvent?: (event: ConversationEvent) => Promise<void>;
  /** `perhaps-older`: the state may be the one of the run before. */
  onState?: (conversation: Conversation, run: 'latest' | 'perhaps-older') => void;
  onNotice?: (text: string) => Promise<void>;
}

/** `failure` when acs stopped waiting while the run went on: a deadline, a silence, a signal. */
export interface Watched {
  outcome: Outcome;
  failure: AppError | null;
}

export function placeToStart(
  { since, afterEventId }: Pick<WatchOptions, 'since' | 'afterEventId'>,
  signal: AbortSignal,
): FollowOptions {
  return {
    ...(since === null ? {} : { since }),
    ...(afterEventId === undefined ? {} : { afterEventId }),
    signal,
  };
}
