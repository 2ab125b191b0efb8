import type { Context } from '../../context.ts';
import { AppError, isOfKind } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Conversation } from '../../../domain/conversation.ts';
import { GRACE_MS, withinLimit } from '../../../runs/deadline.ts';
import { staysWaiting } from '../../../runs/outcome.ts';
import { poll, QUICK } from '../../../runs/poll.ts';
import { untilStopped } from '../stop.ts';

const OVER = new AppError('timeout', 'the server did not answer in time');
export const GRACE = { mostMs: GRACE_MS, over: OVER };

/** For requests after a deadline or a signal. */
export interface Late {
  server: Server;
  signal: AbortSignal;
}

export async function afterEnd<T>(
  { clock }: Context,
  server: Server,
  work: (late: Late) => Promise<T>,
): Promise<T> {
  // The signal of the context may have ended the command.
  const own = { clock, signal: new AbortController().signal };
  return await withinLimit(own, server, GRACE, (late, signal) => work({ server: late, signal }));
}

export interface EarlyEnd {
  end: AppError;
  /** The conversation after the stop; null where nothing was stopped. */
  after: Conversation | null;
}

/** Throws `conflict` where there is neither. */
async function stopRunOrSandbox(
  { conversations, sandboxes }: Server,
  { id, chosen_id, sandbox_id }: Conversation,
  ownsSandbox: boolean,
): Promise<'run' | 'sandbox'> {
  if (id !== '') {
    await conversations.stop(id);
    return 'run';
  }
  if (sandbox_id === null || !ownsSandbox)
    throw new AppError('conflict', 'it is still being started');
  const { items } = await conversations.list({ sandboxId: sandbox_id }, null);
  if (items.some((other) => other.id !== chosen_id))
    throw new AppError('conflict', `sandbox ${sandbox_id} has other conversations`);
  await sandboxes.pause(sandbox_id);
  return 'sandbox';
}

/** Stops the run, or the sandbox of a start that is not ready. */
export async function stopEarly(
  { clock }: Context,
  { server, signal }: Late,
  {
    failure,
    why,
    conversation,
    ownsSandbox,
  }: {
    failure: AppError;
    /** What has ended the wait. */
    why: string;
    conversation: Conversation;
    /** Whether the sandbox may be one that the start has created. */
    ownsSandbox: boolean;
  },
): Promise<EarlyEnd> {
  const polling = { clock, signal, every: QUICK };
  const isStarting = conversation.status === 'starting';
  const end = (result: string, hint: string, data: Record<string, unknown>): AppError =>
    failure.with({ hint, data: { ...failure.details.data, ...data } }, `${why}; ${result}`);
  let current = conversation;
  /** Why nothing has been stopped so far. */
  let obstacle = OVER;
  // While the conversation starts there may be nothing to stop yet: `stop` is tried until there is.
  const stop = async () => {
    try {
      if (isStarting) current = await server.conversations.get(conversation.id);
      return await stopRunOrSandbox(server, current, ownsSandbox);
    } catch (error) {
      if (!isStarting || !isOfKind('not-found', 'conflict')(error)) throw error;
      obstacle = error;
      return undefined;
    }
  };
  try {
    const stopped = await poll(stop, polling);
    obstacle = new AppError('timeout', 'the server accepted that and does not show the effect');
    const { id, sandbox_id: sandboxId } = current;
    const hint = `see its status: acs conv show ${id || conversation.id}`;
    if (stopped === 'sandbox') {
      const isPaused = async () =>
        (await server.sandboxes.get(sandboxId ?? '')).status === 'paused' || undefined;
      await poll(isPaused, polling);
      const result = `its sandbox ${sandboxId} was paused before the conversation had started`;
      return { end: end(result, hint, {}), after: { ...current, sandbox_status: 'paused' } };
    }
    const after = await untilStopped(server, current, { ...polling, until: Infinity });
    const result = after.status === 'waiting' ? staysWaiting(id) : `conversation ${id} was stopped`;
    return { end: end(result, hint, { id, last_status: after.status }), after };
  } catch (error) {
    const { message } = error === OVER ? obstacle : (error as Error);
    const id = current.id || conversation.id;
    const what = id === conversation.start_task_id ? 'start task' : 'conversation';
    const hint = `stop it: acs conv stop ${id}\nfollow it: acs conv follow ${id}`;
    const result = `${what} ${id} could not be stopped (${message}) and may continue`;
    return { end: end(result, hint, { id }), after: null };
  }
}
