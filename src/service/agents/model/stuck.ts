/** The rules of stuck_detector.py of openhands-sdk 1.58.0 with its default thresholds. */
import { isDeepStrictEqual } from 'node:util';
import type { StoredEvent } from '../../storage/conversation-state.ts';

const WINDOW = 20;
const SAME_PAIRS = 4;
const SAME_ERRORS = 3;
const MESSAGES = 3;
const ALTERNATING = 6;

const RESULTS = ['ObservationEvent', 'UserRejectObservation', 'AgentErrorEvent'];

export function isStuck(history: Iterable<StoredEvent>): boolean {
  const events = [...history]
    .filter(({ kind }) => ['MessageEvent', 'ActionEvent', ...RESULTS].includes(kind))
    .slice(-WINDOW);
  const since = events.slice(
    events.findLastIndex(({ kind, source }) => kind === 'MessageEvent' && source === 'user') + 1,
  );
  const newestFirst = since.reverse();
  const actions = newestFirst.filter(({ kind }) => kind === 'ActionEvent');
  const results = newestFirst.filter(({ kind }) => RESULTS.includes(kind));
  /** Whether the newest `count` repeat, each after `period` others. */
  const isRepeated = (list: StoredEvent[], count: number, period = 1): boolean =>
    list.length >= count &&
    list.slice(period, count).every((event, index) => isEqual(event, list[index]));
  const errors = results.findIndex(({ kind }) => kind !== 'AgentErrorEvent');
  const errorCount = errors === -1 ? results.length : errors;
  return (
    (isRepeated(actions, SAME_PAIRS) && isRepeated(results, SAME_PAIRS)) ||
    // Genuine servers remind the model one error earlier.
    (isRepeated(actions, SAME_ERRORS + 1) && errorCount > SAME_ERRORS) ||
    newestFirst.slice(0, MESSAGES).filter(isMessage).length === MESSAGES ||
    (isRepeated(actions, ALTERNATING, 2) && isRepeated(results, ALTERNATING, 2))
  );
}

/** One of the agent, not a request that its last answer led to. */
function isMessage({ kind, source }: StoredEvent): boolean {
  return kind === 'MessageEvent' && source === 'agent';
}

function isEqual(one: StoredEvent, other: StoredEvent | undefined): boolean {
  return other !== undefined && isDeepStrictEqual(contentOf(one), contentOf(other));
}

function contentOf({ kind, ...event }: StoredEvent): unknown {
  if (kind === 'ActionEvent') {
    // A wrong call has no action: two of them are equal if their arguments are.
    const { arguments: written } = event['tool_call'] as { arguments: string };
    return [event['thought'], event['action'] ?? written, event['tool_name']];
  }
  const { metadata: _metadata, ...observation } = (event['observation'] ?? {}) as Record<
    string,
    unknown
  >;
  return [kind, observation, event['tool_name'], event['error'], event['rejection_reason']];
}
