/** What is known of a run before it is watched: the events since the latest user message, read backwards. */
import type { ConversationEvent } from '../../domain/event.ts';
import { afterEvent, isUserMessage, NO_EVIDENCE, type RunEvidence } from '../../domain/outcome.ts';
import type { Server } from '../../servers/server.ts';

/** A run of more events than this is judged without its message. */
const EVENTS_MAX = 300;

export interface KnownRun {
  evidence: RunEvidence;
  /** The newest event; null when there is none. */
  last: ConversationEvent | null;
}

export async function readKnownRun(server: Server, id: string): Promise<KnownRun> {
  const newestFirst: ConversationEvent[] = [];
  for await (const event of server.conversations.events(id, { order: 'newest-first', limit: EVENTS_MAX })) {
    newestFirst.push(event);
    if (isUserMessage(event) || newestFirst.length >= EVENTS_MAX) break;
  }
  const evidence = newestFirst.toReversed().reduce(afterEvent, NO_EVIDENCE);
  return { evidence, last: newestFirst[0] ?? null };
}
