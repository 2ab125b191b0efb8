/** What is known of a run before it is watched: the events since the latest user message, read backwards. */
import { type ConversationEvent, eachEvent } from '../../domain/event.ts';
import { afterEvent, NO_EVIDENCE, type RunEvidence } from '../../runs/evidence.ts';
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
  for await (const event of eachEvent(
    server.conversations.eventPages(id, { order: 'newest-first', limit: EVENTS_MAX }),
  )) {
    newestFirst.push(event);
    if (event.signal === 'message' || newestFirst.length >= EVENTS_MAX) break;
  }
  // A message that is further back than all these is there nevertheless.
  const before: RunEvidence = newestFirst.length < EVENTS_MAX ? NO_EVIDENCE : { ...NO_EVIDENCE, since_message: 'some' };
  const evidence = newestFirst.toReversed().reduce(afterEvent, before);
  return { evidence, last: newestFirst[0] ?? null };
}

/** Servers are asked by the millisecond: what came just before the place to start at may come along. */
export function isUpTo(event: ConversationEvent, end: ConversationEvent | null): boolean {
  if (end === null) return false;
  if (event.id === end.id) return true;
  return event.timestamp !== null && end.timestamp !== null && event.timestamp < end.timestamp;
}
