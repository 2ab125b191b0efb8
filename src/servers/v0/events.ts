/** The events of a V0 conversation, and its final answer (interface 3.4). */
import type { ConversationEvent } from '../../domain/event.ts';
import type { EventRecordV0 } from '../../protocol/v0/records.ts';
import { parseTime } from '../../text/time.ts';
import type { Links } from '../links.ts';
import type { EventQuery } from '../server.ts';
import { eventPagesBackwardV0, eventPagesForwardV0, eventsBackwardV0, getConversationV0 } from './calls.ts';
import { answerOfV0, isUserMessage, kindOf, toEventV0 } from './records.ts';

export async function* eventPagesV0(
  links: Links,
  id: string,
  query: EventQuery,
): AsyncGenerator<ConversationEvent[], void, void> {
  const info = await getConversationV0(links, id);
  const sinceMs = parseTime(query.since ?? null);
  let left = query.limit ?? Infinity;
  if (left <= 0) return;
  const isBackward = query.order === 'newest-first';
  const isBefore = (event: EventRecordV0) => sinceMs !== null && (parseTime(event.timestamp) ?? Infinity) < sinceMs;
  const pages = isBackward ? eventPagesBackwardV0(links, info) : eventPagesForwardV0(links, info, 0);
  for await (const page of pages) {
    const events = page
      .filter((event) => !isBefore(event) && (query.kinds === undefined || query.kinds.includes(kindOf(event))))
      .slice(0, left)
      .map((event) => toEventV0(event, info.conversation_id, links.network.redaction));
    yield events;
    left -= events.length;
    if (left <= 0 || (isBackward && page.some(isBefore))) return;
  }
}

/** The final answer to the latest user message; null when there is none yet. */
export async function resultV0(links: Links, id: string): Promise<string | null> {
  const info = await getConversationV0(links, id);
  for await (const event of eventsBackwardV0(links, info)) {
    if (isUserMessage(event)) return null;
    const answer = answerOfV0(event);
    if (answer !== null) return links.network.redaction.known(answer);
  }
  return null;
}
