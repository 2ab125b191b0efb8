/**
 * What the events say about the latest run of a conversation: a state machine whose input is the signals of the events,
 * in their order. It has no clock and reads nothing.
 */
import type { ConversationEvent, RunSignal } from '../domain/event.ts';

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
const TRANSITIONS: Readonly<Record<RunSignal, Partial<RunEvidence>>> = {
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
  const next = { ...seen, ...TRANSITIONS[signal] };
  // Without a message there is no run: an agent that was just created awaits the user as well.
  if (signal === 'message' || known.since_message !== 'unknown') return next;
  return { ...next, since_message: 'unknown', awaits_user: 'no' };
}

/** The evidence after a status has been stable: older events that contradict it do not count. */
export function afterStanding(known: RunEvidence): RunEvidence {
  const awaits_user = known.awaits_user === 'no' ? 'no' : 'yes';
  return { ...known, since_message: 'unknown', in_progress: false, awaits_user };
}

/** The evidence right after the command has started a run: no status that was read before is of that run. */
export function beforeRun(lastEventId: string | null): RunEvidence {
  return { ...NO_EVIDENCE, last_event_id: lastEventId, since_message: 'none' };
}
