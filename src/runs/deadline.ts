/**
 * The deadline of a command that waits (`--wait-timeout`): one signal, which reaches every request and every pause of
 * the command. At the deadline the request in flight is aborted. After it LAST_LOOK_MS may be used for one read, or for
 * a stop.
 */
import type { Clock } from '../clock.ts';
import type { Context } from '../context.ts';
import { AppError, type ErrorKind, isAppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import { formatDuration } from '../text/duration.ts';

/** What a command may use after its deadline. */
export const LAST_LOOK_MS = 5_000;
/** Timers hold at most 2^31 ms. */
export const LONGEST_TIMER_MS = 2_000_000_000;

export interface Limits {
  /** On the context's clock; Infinity: none. */
  deadlineMs: number;
  /** The value of `--wait-timeout`, for messages. */
  waitMs: number;
}

/** @param waitMs from now on; Infinity: no deadline */
export function limitsAfter({ clock }: Pick<Context, 'clock'>, waitMs: number): Limits {
  return { waitMs, deadlineMs: clock.now() + waitMs };
}

export interface Deadline extends Limits {
  /** Whether this is the error of a request or a pause that the deadline has aborted. */
  isOver(error: unknown): boolean;
  /**
   * Reads once more after the deadline; all such reads of a command share LAST_LOOK_MS. Null when no answer comes.
   * @param read is given a context that has no deadline, and the signal that ends the read
   * @throws AppError of a kind that repeating would not change: `not-found`, `auth`
   */
  lastLook<T>(
    server: Server,
    read: (server: Server, ctx: Context, signal: AbortSignal) => Promise<T>,
  ): Promise<T | null>;
}

/** A context whose signal, and the signal of whose servers, aborts at the deadline. */
export interface TimedContext extends Context {
  readonly deadline: Deadline;
}

/** Does the work until the deadline, which makes it throw an error that `deadline.isOver` recognises: `timeout`. */
export async function withinDeadline<T>(
  ctx: Context,
  limits: Limits,
  work: (timed: TimedContext) => Promise<T>,
): Promise<T> {
  const over = new AppError('timeout', `the server did not answer within ${formatDuration(limits.waitMs)}`, {
    data: { reason: 'timeout' },
  });
  const limit = timeLimit(ctx, limits.deadlineMs - ctx.clock.now(), over);
  try {
    return await work(timedContext(ctx, createDeadline(ctx, limits, over), limit.signal));
  } finally {
    limit.clear();
  }
}

function timedContext(ctx: Context, deadline: Deadline, limit: AbortSignal): TimedContext {
  const signal = AbortSignal.any([ctx.signal, limit]);
  let server: Promise<Server> | null = null;
  const timed: Pick<TimedContext, 'signal' | 'deadline' | 'server' | 'servers'> = {
    signal,
    deadline,
    server: () => (server ??= ctx.server(signal).then((opened) => opened.withSignal(signal))),
    servers: async () =>
      (await ctx.servers(signal)).map(({ profile, server: opening }) => ({
        profile,
        server: opening.then((opened) => opened.withSignal(signal)),
      })),
  };
  const members = Object.entries(timed).map(([name, value]) => [name, { value }] as const);
  return Object.create(ctx, {
    ...Object.fromEntries(members),
    // A plain member would be set on the copy.
    exitCode: { get: () => ctx.exitCode, set: (code: number) => (ctx.exitCode = code) },
  }) as TimedContext;
}

function createDeadline(ctx: Context, limits: Limits, over: AppError): Deadline {
  let endsAtMs: number | null = null;
  const isOver = (error: unknown): boolean => error === over;
  return {
    ...limits,
    isOver,
    async lastLook(server, read) {
      endsAtMs ??= ctx.clock.now() + LAST_LOOK_MS;
      try {
        return await withinLimit(ctx, server, { mostMs: endsAtMs - ctx.clock.now(), over }, (awake, signal) =>
          read(awake, ctx, signal),
        );
      } catch (error) {
        if (isOver(error) || isPassing(error)) return null;
        throw error;
      }
    },
  };
}

/**
 * Does the work with a server whose requests the signal of the command or the limit aborts, the limit with the error
 * `over`.
 * @param work its second argument is the signal of that server, for pauses
 */
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

export interface TimeLimit {
  signal: AbortSignal;
  /** Must be called: an active timer keeps the process alive. */
  clear(): void;
}

/**
 * A signal that aborts when the time is over.
 * @param dueMs on the context's clock; Infinity, or more than a timer holds: never
 * @param reason what it aborts with
 */
export function timeLimit({ clock }: Pick<Context, 'clock'>, dueMs: number, reason?: AppError): TimeLimit {
  const limit = new AbortController();
  const clear = dueMs < LONGEST_TIMER_MS ? startTimer(clock, dueMs, () => limit.abort(reason)) : () => undefined;
  return { signal: limit.signal, clear };
}

/** @returns ends the timer, which otherwise keeps the process alive */
function startTimer(clock: Clock, dueMs: number, onTime: () => void): () => void {
  const timer = new AbortController();
  clock.sleep(Math.max(dueMs, 0), timer.signal).then(onTime, () => undefined);
  return () => timer.abort();
}

/** The first of these that settles, or `time` when none does within so many milliseconds (Infinity: no limit). */
export async function beforeTime<T>(
  { clock }: Pick<Context, 'clock'>,
  dueMs: number,
  promises: readonly Promise<T>[],
): Promise<T | 'time'> {
  if (dueMs === Number.POSITIVE_INFINITY) return await Promise.race(promises);
  let clear = (): void => undefined;
  const time = new Promise<'time'>((resolve) => {
    clear = startTimer(clock, Math.min(dueMs, LONGEST_TIMER_MS), () => resolve('time'));
  });
  try {
    return await Promise.race([...promises, time]);
  } finally {
    clear();
  }
}

/** The answer, or `time` when it does not come before the end of what a command may use after its deadline. */
export async function beforeEnd<T>(
  ctx: Pick<Context, 'clock'>,
  { deadlineMs }: Pick<Limits, 'deadlineMs'>,
  answer: Promise<T>,
): Promise<T | 'time'> {
  const leftMs = Math.max(deadlineMs - ctx.clock.now(), 0) + LAST_LOOK_MS;
  return await beforeTime(ctx, leftMs, [answer]);
}

const PASSING: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['network', 'server', 'rate-limited']);

/** Whether the same request may succeed later: no answer, an error of the server, or a rate limit. */
export function isPassing(error: unknown): boolean {
  return isAppError(error) && PASSING.has(error.kind);
}
