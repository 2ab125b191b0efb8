/** What is known of a run before it is watched: the events since the latest user message, read backwards. */
import type { Context } from '../../context.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { afterEvent, isUserMessage, NO_EVIDENCE, type RunEvidence } from '../../domain/outcome.ts';
import { isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';

const MESSAGE_SHOWS_MS = 5_000;
const LOOK_AGAIN_MS = 100;

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
  // A message that is further back than all these is there nevertheless.
  const before: RunEvidence = newestFirst.length < EVENTS_MAX ? NO_EVIDENCE : { ...NO_EVIDENCE, since_message: 'some' };
  const evidence = newestFirst.toReversed().reduce(afterEvent, before);
  return { evidence, last: newestFirst[0] ?? null };
}

/**
 * Waits until a message that was just sent is among the events, a few seconds at most: until then they tell of the run
 * before, whose end would be taken for the end of this one. `before` is the newest event from before it was sent.
 */
export async function untilMessageShows(
  ctx: Pick<Context, 'clock' | 'signal'>,
  server: Server,
  id: string,
  before: ConversationEvent | null,
): Promise<void> {
  const untilMs = ctx.clock.now() + MESSAGE_SHOWS_MS;
  while (!(await hasMessageAfter(server, id, before)) && ctx.clock.now() < untilMs) {
    await ctx.clock.sleep(LOOK_AGAIN_MS, ctx.signal);
  }
}

async function hasMessageAfter(server: Server, id: string, before: ConversationEvent | null): Promise<boolean> {
  try {
    for await (const event of server.conversations.events(id, { order: 'newest-first', limit: EVENTS_MAX })) {
      if (event.id === before?.id) return false;
      if (isUserMessage(event)) return true;
    }
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
  }
  return false;
}
