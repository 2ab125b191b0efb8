/** What the tracker reads of a run besides what the follower delivers. */
import { NO_STATUS, type Conversation } from '../domain/conversation.ts';
import { afterStanding, type RunEvidence, afterEvent, NO_EVIDENCE } from './evidence.ts';
import { isOfLatestRun } from './outcome.ts';
import { isAppError, isNotFound } from '../errors.ts';
import { isPassing } from './deadline.ts';
import type { Server } from '../servers/server.ts';
import type { TrackOptions } from './tracker-options.ts';
import { type ConversationEvent, eachEvent } from '../domain/event.ts';

/** A server whose requests are aborted at a deadline, with an error that `isOver` knows. */
export interface BoundServer {
  server: Server;
  signal: AbortSignal;
  isOver(error: unknown): boolean;
}

/** The record as it is now; null while it cannot be read for a reason that passes, and where the deadline aborts it. */
export async function readUnlessPassing({ server, isOver }: BoundServer, id: string): Promise<Conversation | null> {
  try {
    return await server.conversations.getComplete(id);
  } catch (error) {
    if (isOver(error) || isPassing(error)) return null;
    throw error;
  }
}

/** Whether the sandbox contradicts a record that says that the run has ended; false while it cannot be asked. */
export async function runsInSandbox({ server, isOver }: BoundServer, id: string): Promise<boolean> {
  try {
    return await server.conversations.runsInSandbox(id);
  } catch (error) {
    if (isOver(error) || (isAppError(error) && error.kind !== 'interrupted')) return false;
    throw error;
  }
}

/** Where the server has no status now, the status before it still holds. */
export function withKnownStatus(fresh: Conversation, last: Conversation | null): Conversation {
  return fresh.status === NO_STATUS ? (last ?? fresh) : fresh;
}

/** Whether the conversation itself was deleted, and not only an event of it is missing. */
export async function isGone(server: Server, id: string): Promise<boolean> {
  try {
    await server.conversations.get(id);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
}

/** Null where the status may be that of the run before. */
export function ofLatestRun(conversation: Conversation | null, evidence: RunEvidence): Conversation | null {
  return conversation !== null && isOfLatestRun(conversation, evidence) ? conversation : null;
}

/**
 * The evidence after this status has been stable for long enough. For a run that the command has started itself, and
 * that has no event yet, the status in a running sandbox is that of the run before, however long it is stable.
 */
export function standing(
  { startedAfter }: Pick<TrackOptions, 'startedAfter'>,
  evidence: RunEvidence,
  { sandbox_status }: Conversation,
): RunEvidence {
  const isOlder = startedAfter !== undefined && evidence.since_message === 'none' && sandbox_status === 'running';
  return isOlder ? evidence : afterStanding(evidence);
}

/** A run of more events than this is judged without its message. */
const EVENTS_MAX = 300;

export interface KnownRun {
  evidence: RunEvidence;
  /** The newest event; null when there is none. */
  last: ConversationEvent | null;
}

/** Reads the events since the latest user message, backwards. */
export async function readKnownRun(server: Server, id: string): Promise<KnownRun> {
  const newestFirst: ConversationEvent[] = [];
  for await (const event of eachEvent(
    server.conversations.eventPages(id, { order: 'newest-first', limit: EVENTS_MAX }),
  )) {
    newestFirst.push(event);
    if (event.signal === 'message') break;
  }
  // The message of a longer run exists, further back.
  const before: RunEvidence = newestFirst.length < EVENTS_MAX ? NO_EVIDENCE : { ...NO_EVIDENCE, since_message: 'some' };
  const evidence = newestFirst.toReversed().reduce(afterEvent, before);
  return { evidence, last: newestFirst[0] ?? null };
}

/** A read from a time on is exact to the millisecond: events just before that time may be in it. */
export function isUpTo(event: ConversationEvent, end: ConversationEvent | null): boolean {
  if (end === null) return false;
  if (event.id === end.id) return true;
  return event.timestamp !== null && end.timestamp !== null && inOrder(event.timestamp) < inOrder(end.timestamp);
}

/** The text of a time without its `Z`: such texts are in the order of their times, with a fraction or without one. */
function inOrder(time: string): string {
  return time.slice(0, -1);
}
