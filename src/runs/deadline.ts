import type { Clock } from '../base/clock.ts';
import { type AppError, isOfKind } from '../base/errors.ts';
import type { Server } from '../client/shared/server.ts';

/** The time for one read, or for a stop, after the deadline. */
export const GRACE_MS = 5_000;
/** Timers hold at most 2^31 ms. */
export const LONGEST_TIMER_MS = 2_000_000_000;

/** The signal aborts after `ms` with the error `over`; never where no timer is that long. */
export function timeLimit(
  { clock }: { clock: Clock },
  ms: number,
  over?: AppError,
): {
  signal: AbortSignal;
  /** Must be called: an active timer keeps the process alive. */
  clear(): void;
} {
  const limit = new AbortController();
  const timer = new AbortController();
  if (ms < LONGEST_TIMER_MS)
    clock.sleep(Math.max(ms, 0), timer.signal).then(
      () => limit.abort(over),
      () => undefined,
    );
  return { signal: limit.signal, clear: () => timer.abort() };
}

/** Aborts the requests of the server at the limit, with the error `over`. */
export async function withinLimit<T>(
  ctx: Pick<RunContext, 'clock' | 'signal'>,
  server: Server,
  { mostMs, over }: { mostMs: number; over: AppError },
  work: (server: Server, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = timeLimit(ctx, mostMs, over);
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  try {
    return await work(await server.withSignal(signal), signal);
  } finally {
    limit.clear();
  }
}

/** The first of these that settles, or `time` when none does within so many milliseconds. */
export async function beforeTime<T>(
  ctx: { clock: Clock },
  ms: number,
  promises: readonly Promise<T>[],
): Promise<T | 'time'> {
  const { signal, clear } = timeLimit(ctx, ms);
  const time = new Promise<'time'>((resolve) =>
    signal.addEventListener('abort', () => resolve('time')),
  );
  try {
    return await Promise.race([...promises, time]);
  } finally {
    clear();
  }
}

export interface RunContext {
  clock: Clock;
  signal: AbortSignal;
  notice(text: string): Promise<void>;
}

export interface Limits {
  /** On the context's clock; Infinity: none. */
  deadlineMs: number;
  waitMs: number;
}

export function limitsAfter({ clock }: { clock: Clock }, waitMs: number): Limits {
  return { waitMs, deadlineMs: clock.now() + waitMs };
}

/** The same request may succeed later: no answer, an error of the server, or a rate limit. */
export const isPassing = isOfKind('network', 'server', 'rate-limited');
