/** One by one what comes page by page. */
export async function* eachEvent(
  pages: AsyncIterable<readonly ConversationEvent[]>,
): AsyncGenerator<ConversationEvent, void, void> {
  for await (const page of pages) yield* page;
}

export interface ConversationEvent {
  type: 'event';
  /** V1: uuid with dashes. V0: the number as text. */
  id: string;
  conversation_id: string;
  /** RFC 3339 with `Z`, microseconds kept. */
  timestamp: string | null;
  /** agent, user, environment, hook or whatever the server says. */
  source: string | null;
  /** V1: the event's `kind`. V0: `action:<name>` or `observation:<name>`. */
  kind: string;
  /** One line for people. */
  text: string;
  /** The event as served, redacted. */
  payload: Record<string, unknown>;
}
