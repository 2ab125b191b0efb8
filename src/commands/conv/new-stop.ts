/** `--stop-on-timeout` and `--stop-on-interrupt`: ending the run that acs no longer waits for, and saying so. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { poll, QUICK } from '../../runs/poll.ts';
import { hasStopped } from '../../runs/status.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import { LAST_LOOK_MS, timeLimit } from '../../runs/deadline.ts';
import type { NewOptions } from './new-options.ts';
import { staysWaiting } from '../../runs/endings.ts';
import type { TrackedRun } from '../../runs/outcome.ts';

export type StopOptions = Pick<NewOptions, 'stopOnTimeout' | 'stopOnInterrupt'> & { waitMs: number };

/** `after`: the conversation as it stands after a stop; null without one. */
export interface Concluded<T> {
  end: T;
  after: Conversation | null;
}

/** The tracked run with what became of it where the flags ask for its end; else as it is. */
export async function stopIfAsked(
  ctx: Context,
  server: Server,
  tracked: TrackedRun,
  conversation: Conversation,
  options: StopOptions,
): Promise<Concluded<TrackedRun>> {
  const { failure, outcome } = tracked;
  if (failure === null) return { end: tracked, after: null };
  const why =
    failure.kind === 'timeout'
      ? `the time limit of ${formatDuration(options.waitMs)} has passed`
      : interruptedBy(ctx.signal);
  const last = { ...conversation, status: outcome.status };
  const { end, after } = await afterStopping(ctx, server, { failure, why, last }, options);
  if (end === failure) return { end: tracked, after };
  const reason = { code: outcome.reason?.code ?? failure.kind, text: end.message };
  if (after === null) return { end: { outcome: { ...outcome, reason }, failure: end }, after };
  const { status, waiting_for, cost_usd } = after;
  return { end: { outcome: { ...outcome, status, waiting_for, cost_usd, reason }, failure: end }, after };
}

interface Unfinished {
  failure: AppError;
  /** What ended the waiting, in words. */
  why: string;
  /** By the id of its start task while it has no other. */
  last: Conversation;
}

/** The failure with what became of the run where the flags ask for its end; else as it is. */
export async function afterStopping(
  ctx: Context,
  server: Server,
  { failure, why, last }: Unfinished,
  options: StopOptions,
): Promise<Concluded<AppError>> {
  const halted = await stopped(ctx, server, failure, last, options);
  if (halted === null) return { end: failure, after: null };
  const { after } = halted;
  const end = after === null ? notStopped(failure, why, last.id, halted.why) : stoppedInstead(failure, why, after);
  return { end, after };
}

/**
 * The failure of a command that has also stopped the run, as a flag requests.
 * @param why what ended the waiting, in words
 */
function stoppedInstead(failure: AppError, why: string, { id, status }: Conversation): AppError {
  const stands = status === 'waiting' ? staysWaiting(id) : `conversation ${id} was stopped`;
  return new AppError(failure.kind, `${why}; ${stands}`, {
    ...failure.details,
    hint: `see its status: acs conv show ${id}`,
    data: { ...failure.details.data, id, last_status: status },
  });
}

/** As stoppedInstead, of a run that could not be stopped. */
function notStopped(failure: AppError, why: string, id: string, cause: string): AppError {
  return new AppError(failure.kind, `${why}; conversation ${id} could not be stopped (${cause}) and continues`, {
    ...failure.details,
    exitCode: failure.exitCode,
    hint: `stop it: acs conv stop ${id}   follow it: acs conv follow ${id}`,
    data: { ...failure.details.data, id },
  });
}

function interruptedBy({ reason }: AbortSignal): string {
  return isAppError(reason) ? reason.message : 'interrupted';
}

/** `after`: how the run stands then; null when it could not be stopped, for the reason `why`. */
type Halted = { after: Conversation } | { after: null; why: string };

/** Stops the run where the flags ask for it, else null. */
async function stopped(
  ctx: Context,
  server: Server,
  failure: AppError,
  conversation: Conversation,
  { stopOnTimeout, stopOnInterrupt }: StopOptions,
): Promise<Halted | null> {
  const wanted = failure.kind === 'timeout' ? stopOnTimeout : failure.kind === 'interrupted' && stopOnInterrupt;
  if (!wanted) return null;
  const limit = timeLimit(ctx, LAST_LOOK_MS);
  try {
    const awake = await server.withSignal(limit.signal);
    try {
      const id = await stopOnceThere(ctx, awake, conversation, limit.signal);
      return { after: await afterStop(ctx, awake, { ...conversation, id }, limit.signal) };
    } catch (error) {
      return { after: null, why: isAppError(error) ? error.message : 'the server did not answer in time' };
    }
  } finally {
    limit.clear();
  }
}

/**
 * While it starts there may be nothing to stop yet, and the run would begin after all: tried until there is.
 * @returns the id of the conversation
 */
async function stopOnceThere(
  ctx: Context,
  server: Server,
  { id: named, status }: Conversation,
  limit: AbortSignal,
): Promise<string> {
  let early: AppError | null = null;
  const stop = async (): Promise<string | undefined> => {
    early = null;
    try {
      const id = status === 'starting' ? (await server.conversations.get(named)).id : named;
      if (id === '') throw new AppError('conflict', 'it is still being started');
      await server.conversations.stop(id);
      return id;
    } catch (error) {
      if (status !== 'starting' || !isAppError(error) || !isEarly(error)) throw error;
      early = error;
      return undefined;
    }
  };
  return await poll(stop, { clock: ctx.clock, signal: limit, every: QUICK }).catch((error: unknown) => {
    // The error reported is why it could not be stopped, not that the time is over.
    throw early ?? error;
  });
}

function isEarly({ kind }: AppError): boolean {
  return kind === 'not-found' || kind === 'conflict';
}

/** A server takes a stop before its record shows it. */
async function afterStop(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  limit: AbortSignal,
): Promise<Conversation> {
  const seen: Conversation = { ...conversation, status: 'paused', waiting_for: null, execution_status: null };
  const stopped = async (): Promise<Conversation | undefined> => {
    const now = await server.conversations.getComplete(conversation.id);
    return hasStopped(now.status) ? now : undefined;
  };
  return await poll(stopped, { clock: ctx.clock, signal: limit, every: QUICK }).catch(() => seen);
}
