import { type ConversationEvent, eachEvent } from '../../domain/event.ts';
import type { Server } from '../../servers/server.ts';
import { eventTest, type FilterOptions } from './event-filter.ts';

/** The newest events that pass the filter, oldest first. */
export async function readTail(
  server: Server,
  id: string,
  options: FilterOptions & { tail: number },
): Promise<ConversationEvent[]> {
  if (options.tail === 0) return [];
  const wanted = eventTest(options);
  const newestFirst: ConversationEvent[] = [];
  for await (const event of eachEvent(server.conversations.eventPages(id, { order: 'newest-first' }))) {
    if (wanted(event)) newestFirst.push(event);
    if (newestFirst.length >= options.tail) break;
  }
  return newestFirst.toReversed();
}
