/** `message` is one of the user, which begins a run; `activity` is anything the agent does. */
export type RunSignal =
  | 'message'
  | 'activity'
  | 'rejection'
  | 'status:running'
  | 'status:starting'
  | 'status:rejected'
  | 'status:awaiting-user'
  | 'status:other';

export interface ConversationEvent {
  type: 'event';
  /** V1: uuid with dashes. V0: the number as text. */
  id: string;
  conversation_id: string;
  /** RFC 3339 with `Z`, microseconds kept. */
  timestamp: string | null;
  source: string | null;
  /** V1: the event's `kind`. V0: `action:<name>` or `observation:<name>`. */
  kind: string;
  text: string;
  /** The event as the server sent it, redacted. */
  payload: Record<string, unknown>;
  /** Null: the event shows nothing about the run. Not printed. */
  signal: RunSignal | null;
}

/** A read from a time on is exact to the millisecond: events just before that time may be in it. */
export function isUpTo(event: ConversationEvent, end: ConversationEvent | null): boolean {
  if (event.id === end?.id) return true;
  if (!event.timestamp || !end?.timestamp) return false;
  // Without `Z` the texts are in the order of their times, with a fraction or without one.
  return event.timestamp.slice(0, -1) < end.timestamp.slice(0, -1);
}
