/**
 * Requests of a command that waits until a deadline: a server that hangs must not keep it longer than the last look
 * which every verdict on a deadline is worth.
 */
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';

/** How long a look that is under way at a deadline may still take. */
export const LAST_LOOK_MS = 5_000;
/** Timers hold at most 2^31 ms. */
export const LONGEST_TIMER_MS = 2_000_000_000;

export interface TimeLimit {
  signal: AbortSignal;
  /** To be called in the end: its timer would hold the process. */
  clear(): void;
}

/**
 * A signal that aborts when the time is over.
 * @param dueMs on the context's clock; Infinity, or more than a timer holds: never
 * @param reason what it aborts with
 */
export function timeLimit({ clock }: Pick<Context, 'clock'>, dueMs: number, reason?: AppError): TimeLimit {
  const limit = new AbortController();
  const timer = new AbortController();
  if (dueMs < LONGEST_TIMER_MS) {
    clock.sleep(dueMs, timer.signal).then(
      () => limit.abort(reason),
      () => undefined,
    );
  }
  return { signal: limit.signal, clear: () => timer.abort() };
}

export interface BoundedLooks {
  /** The same server; its requests end with `isOver`. */
  server: Server;
  /** Whether this is the error of a look that was given up. */
  isOver(error: unknown): boolean;
  /** To be called in the end: its timer would hold the process. */
  clear(): void;
}

/** @param deadlineMs on the context's clock; Infinity: none */
export async function boundLooks(
  ctx: Pick<Context, 'clock' | 'signal'>,
  server: Server,
  deadlineMs: number,
): Promise<BoundedLooks> {
  const over = new AppError('timeout', 'the server did not answer before the deadline');
  const limit = timeLimit(ctx, Math.max(deadlineMs - ctx.clock.now(), 0) + LAST_LOOK_MS, over);
  return {
    server: await server.withSignal(AbortSignal.any([ctx.signal, limit.signal])),
    isOver: (error) => error === over,
    clear: limit.clear,
  };
}
