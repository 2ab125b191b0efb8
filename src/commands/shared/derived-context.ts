import type { Context, GlobalOptions, ServerChoice, Terminal } from '../context.ts';
import { AppError, nullIf } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import { formatDuration } from '../../base/text/time.ts';
import type { Server } from '../../client/shared/server.ts';
import { GRACE_MS, isPassing, timeLimit, withinLimit, type Limits } from '../../runs/deadline.ts';

interface Changes extends Partial<Pick<Context, 'signal' | 'notice' | 'warn'>> {
  /** The active server is that of these flags. */
  server?: ServerChoice;
  /** Other flags; `out` follows those of the command. */
  globals?: Partial<GlobalOptions>;
  terminal?: Partial<Terminal>;
  /** An exit code of its own; without it, setting the code sets that of `ctx`. */
  exitCode?: number;
}

/** The context of one part of a command. Its `signal` also ends the requests to its server. */
export function derivedContext(ctx: Context, changes: Changes): Context {
  const { server, signal = ctx.signal, notice = ctx.notice, warn = ctx.warn } = changes;
  const outcome = changes.exitCode === undefined ? ctx : { exitCode: changes.exitCode };
  const servers = server === undefined ? ctx.servers : ctx.servers.of(server);
  const active: Context['servers']['active'] = once(async (use) =>
    (await servers.active(use, signal)).withSignal(signal),
  );
  return {
    ...ctx,
    signal,
    notice,
    warn,
    globals: { ...ctx.globals, ...server, ...changes.globals },
    terminal: { ...ctx.terminal, ...changes.terminal },
    servers: signal === ctx.signal ? servers : { ...servers, active },
    get exitCode() {
      return outcome.exitCode;
    },
    set exitCode(code) {
      outcome.exitCode = code;
    },
  };
}

/** Each text is printed once, also by several of these contexts with the same `printed`. */
export function printingOnce(ctx: Context, printed = new Set<string>()): Context {
  const isNew = (text: string): boolean => printed.size < printed.add(text).size;
  return derivedContext(ctx, {
    notice: async (text, of) => (isNew(text) ? await ctx.notice(text, of) : undefined),
    warn: async (text) => (isNew(text) ? await ctx.warn(text) : undefined),
  });
}

export interface Deadline extends Limits {
  isOver(error: unknown): error is AppError;
  /** Null when no answer comes. Throws what repeating would not change: `not-found`, `auth`. */
  lastRead<T>(server: Server, read: (server: Server) => Promise<T>): Promise<T | null>;
}

export interface TimedContext extends Context {
  readonly deadline: Deadline;
}

/** The work throws an error at the deadline that `deadline.isOver` recognises: `timeout`. */
export async function withinDeadline<T>(
  ctx: Context,
  limits: Limits,
  work: (timed: TimedContext) => Promise<T>,
): Promise<T> {
  const over = new AppError(
    'timeout',
    `the server did not answer within ${formatDuration(limits.waitMs)}`,
    { data: { reason: 'timeout' } },
  );
  const isOver = (error: unknown): error is AppError => error === over;
  const deadline: Deadline = {
    ...limits,
    isOver,
    lastRead: async (server, read) =>
      await withinLimit(ctx, server, { mostMs: GRACE_MS, over }, read).catch(
        nullIf((error) => isOver(error) || isPassing(error)),
      ),
  };
  const limit = timeLimit(ctx, limits.deadlineMs - ctx.clock.now(), over);
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  try {
    return await work(Object.assign(derivedContext(ctx, { signal }), { deadline }));
  } finally {
    limit.clear();
  }
}
