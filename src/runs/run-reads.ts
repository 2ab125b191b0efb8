/** What the tracker reads of a run besides what the follower delivers, and the servers that it reads from. */
import type { Context } from '../context.ts';
import type { Conversation } from '../domain/conversation.ts';
import { type ConversationEvent, eachEvent } from '../domain/event.ts';
import { AppError, isAppError, isNotFound } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import { isPassing, timeLimit } from './deadline.ts';
import { afterEvent, NO_EVIDENCE, type RunEvidence } from './outcome.ts';

/** A server whose requests are aborted at a deadline, with an error that `isOver` recognises. */
export interface BoundServer {
  server: Server;
  signal: AbortSignal;
  isOver(error: unknown): boolean;
}

export interface BoundServers {
  /** Its requests are aborted at the deadline. */
  timed: BoundServer;
  /** Its requests are not: for what is read after the deadline. */
  late: BoundServer;
  /** Aborts the requests of both: none in flight may keep the command after the outcome. */
  stop(): void;
}

/** @param signal also aborts the requests of both, as the signal of the command does */
export async function bindServers(
  ctx: Pick<Context, 'clock' | 'signal'>,
  server: Server,
  { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal },
): Promise<BoundServers> {
  const over = new AppError('timeout', 'the deadline has passed');
  const stop = new AbortController();
  const limit = timeLimit(ctx, deadlineMs - ctx.clock.now(), over);
  const bind = async (signals: AbortSignal[]): Promise<BoundServer> => {
    const bound = AbortSignal.any(signals);
    return { server: await server.withSignal(bound), signal: bound, isOver: (error) => error === over };
  };
  const always = [stop.signal, ctx.signal, ...(signal ? [signal] : [])];
  return {
    timed: await bind([...always, limit.signal]),
    late: await bind(always),
    stop() {
      limit.clear();
      stop.abort();
    },
  };
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

/** Whether the sandbox contradicts a record with an end; false while it cannot be read. */
export async function runsInSandbox({ server, isOver }: BoundServer, id: string): Promise<boolean> {
  try {
    return await server.conversations.runsInSandbox(id);
  } catch (error) {
    if (isOver(error) || (isAppError(error) && error.kind !== 'interrupted')) return false;
    throw error;
  }
}

/** Whether the conversation itself was deleted, and not only an event of it is missing. */
export async function isGone({ server }: BoundServer, id: string): Promise<boolean> {
  try {
    await server.conversations.get(id);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
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
