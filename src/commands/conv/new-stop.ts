/** `--stop-on-timeout` and `--stop-on-interrupt`: ending the run that acs no longer waits for, and saying so. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { isAppError, type AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import { timeLimit } from '../deadline.ts';
import type { NewOptions } from './new-options.ts';
import { stoppedInstead } from './unended.ts';
import type { Watched } from './watch.ts';

export type StopOptions = Pick<NewOptions, 'stopOnTimeout' | 'stopOnInterrupt'> & { waitMs: number };

/** At most this long for --stop-on-interrupt: whoever sent the signal waits. */
const STOP_MS = 5_000;
const STOP_LOOK_MS = 100;
const BETWEEN_TRIES_MS = 250;

/** The watch with what became of the run where the flags ask for its end; else as it is. */
export async function stopIfAsked(
  ctx: Context,
  server: Server,
  watched: Watched,
  conversation: Conversation,
  options: StopOptions,
): Promise<Watched> {
  const { failure, outcome } = watched;
  const last = failure === null ? null : await stopped(ctx, server, failure, conversation, options);
  if (failure === null || last === null) return watched;
  const why =
    failure.kind === 'timeout' ? `the time of ${formatDuration(options.waitMs)} is up` : interruptedBy(ctx.signal);
  const told = stoppedInstead(failure, why, last);
  const code = outcome.reason?.code ?? failure.kind;
  return { outcome: { ...outcome, status: last.status, reason: { code, text: told.message } }, failure: told };
}

function interruptedBy({ reason }: AbortSignal): string {
  return isAppError(reason) ? reason.message : 'interrupted';
}

/** Stops the run where the flags ask for it; how it stands then, or null when it was not stopped. */
export async function stopped(
  ctx: Context,
  server: Server,
  failure: AppError,
  conversation: Conversation,
  { stopOnTimeout, stopOnInterrupt }: StopOptions,
): Promise<Conversation | null> {
  const wanted = failure.kind === 'timeout' ? stopOnTimeout : failure.kind === 'interrupted' && stopOnInterrupt;
  if (!wanted) return null;
  const { id } = conversation;
  const limit = timeLimit(ctx, STOP_MS);
  try {
    const awake = await server.withSignal(limit.signal);
    try {
      if (conversation.status === 'starting') await stopOnceThere(ctx, awake, id, limit.signal);
      else await awake.conversations.stop(id);
    } catch (error) {
      const why = isAppError(error) ? error.message : 'it took too long';
      await ctx.warn(`could not stop conversation ${id}: ${why}`);
      return null;
    }
    return await afterStop(ctx, awake, conversation, limit.signal);
  } finally {
    limit.clear();
  }
}

/** While it starts there may be nothing to stop yet, and the run would begin after all: tried until there is. */
async function stopOnceThere(ctx: Context, server: Server, id: string, limit: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await server.conversations.stop(id);
    } catch (error) {
      if (!isAppError(error) || (error.kind !== 'not-found' && error.kind !== 'conflict')) throw error;
      // What it met is what is told, not that the time is over.
      await ctx.clock.sleep(BETWEEN_TRIES_MS, limit).catch(() => Promise.reject(error));
    }
  }
}

/** A server takes a stop before its record shows it. */
async function afterStop(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  limit: AbortSignal,
): Promise<Conversation> {
  const seen: Conversation = { ...conversation, status: 'paused' };
  try {
    for (;;) {
      const now = await server.conversations.get(conversation.id);
      if (now.status !== 'running' && now.status !== 'starting') return now;
      await ctx.clock.sleep(STOP_LOOK_MS, limit);
    }
  } catch {
    return seen;
  }
}
