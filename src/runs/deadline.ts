/**
 * `timeLimit` is the one timer of commands: the other limits, and the deadline of `--wait-timeout`,
 * are made of it.
 */
import type { Context } from '../commands/context.ts';
import { AppError, type ErrorKind, isAppError } from '../base/errors.ts';
import type { Server } from '../client/shared/server.ts';
import { formatDuration } from '../base/text/time.ts';

/** The time for one read, or for a stop, after the deadline. */
export const GRACE_MS = 5_000;
/** Timers hold at most 2^31 ms. */
export const LONGEST_TIMER_MS = 2_000_000_000;

/** The signal aborts after `ms` with the error `over`. A limit that no timer holds is none. */
export function timeLimit(
  { clock }: Pick<Context, 'clock'>,
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

/** At the limit the requests of the server are aborted with the error `over`. */
export async function withinLimit<T>(
  ctx: Pick<Context, 'clock' | 'signal'>,
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
  ctx: Pick<Context, 'clock'>,
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

export interface Limits {
  /** On the context's clock; Infinity: none. */
  deadlineMs: number;
  waitMs: number;
}

export function limitsAfter({ clock }: Pick<Context, 'clock'>, waitMs: number): Limits {
  return { waitMs, deadlineMs: clock.now() + waitMs };
}

export interface Deadline extends Limits {
  isOver(error: unknown): boolean;
  /**
   * Null when no answer comes. Throws AppError of a kind that repeating would not change:
   * `not-found`, `auth`.
   */
  lastRead<T>(server: Server, read: (server: Server) => Promise<T>): Promise<T | null>;
}

export interface TimedContext extends Context {
  readonly deadline: Deadline;
}

/** At the deadline the work throws an error that `deadline.isOver` recognises: `timeout`. */
export async function withinDeadline<T>(
  ctx: Context,
  limits: Limits,
  work: (timed: TimedContext) => Promise<T>,
): Promise<T> {
  const over = new AppError(
    'timeout',
    `the server did not answer within ${formatDuration(limits.waitMs)}`,
    {
      data: { reason: 'timeout' },
    },
  );
  const isOver = (error: unknown): boolean => error === over;
  const deadline: Deadline = {
    ...limits,
    isOver,
    lastRead: async (server, read) =>
      await withinLimit(ctx, server, { mostMs: GRACE_MS, over }, read).catch((error: unknown) => {
        if (isOver(error) || isPassing(error)) return null;
        throw error;
      }),
  };
  const limit = timeLimit(ctx, limits.deadlineMs - ctx.clock.now(), over);
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  let server: Promise<Server> | null = null;
  const open = () => (server ??= ctx.server(signal).then((opened) => opened.withSignal(signal)));
  const timed = Object.create(ctx, {
    signal: { value: signal },
    deadline: { value: deadline },
    server: { value: open },
    // A plain member would be set on the copy.
    exitCode: { get: () => ctx.exitCode, set: (code: number) => (ctx.exitCode = code) },
  }) as TimedContext;
  try {
    return await work(timed);
  } finally {
    limit.clear();
  }
}

const PASSING: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['network', 'server', 'rate-limited']);

/**
 * Whether the same request may succeed later: no answer, an error of the server, or a rate limit.
 */
export function isPassing(error: unknown): boolean {
  return isAppError(error) && PASSING.has(error.kind);
}
