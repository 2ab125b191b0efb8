/** Waits for a sandbox to reach a state: servers answer a request for a change before the change is complete. */
import type { SandboxStatus } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError, isNotFound } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import type { TimedContext } from '../../runs/deadline.ts';

export interface Settling {
  server: Server;
  id: string;
  /** States that end the wait successfully. */
  wanted: readonly SandboxStatus[];
  /** Called with each new status. */
  onStatus?: (status: SandboxStatus) => void;
}

/**
 * Waits until the deadline of the command; the state that is read after it counts too.
 * @returns the sandbox in one of the wanted states; one that is gone while `missing` is wanted comes as `gone` says.
 * Throws `failed` on ERROR, `not-found` when it is gone, both only where that state is not wanted, and `timeout`
 * naming the last state.
 */
export async function settle(ctx: TimedContext, { server, id, wanted, onStatus }: Settling): Promise<Sandbox> {
  const { deadline } = ctx;
  let status: SandboxStatus | null = null;
  const settled = (sandbox: Sandbox): Sandbox | undefined => {
    if (sandbox.status !== status) onStatus?.(sandbox.status);
    status = sandbox.status;
    if (wanted.includes(status)) return sandbox;
    if (isEnd(status)) throw unreachableState(sandbox, wanted);
    return undefined;
  };
  try {
    return await poll(async () => settled(await readOrGone(server, id)), {
      clock: ctx.clock,
      signal: ctx.signal,
      every: STEADY,
    });
  } catch (error) {
    if (!deadline.isOver(error)) throw error;
  }
  const last = await deadline.lastLook(server, (awake) => readOrGone(awake, id));
  if (last === null) throw unanswered(id, status, deadline.waitMs);
  const sandbox = settled(last);
  if (sandbox !== undefined) return sandbox;
  throw timedOut(id, last.status, deadline.waitMs);
}

function timedOut(id: string, status: SandboxStatus, waitMs: number): AppError {
  return new AppError('timeout', `sandbox ${id} is still ${status} after ${formatDuration(waitMs)}`, {
    hint: `the change continues on the server; wait for it: acs sandbox wait ${id}`,
    data: { last_status: status, id },
  });
}

/** The deadline passed while the server did not answer: the current status of the sandbox is unknown. */
export function unanswered(id: string, status: SandboxStatus | null, waitMs: number): AppError {
  const seen = status === null ? '' : `; sandbox ${id} was last seen ${status}`;
  return new AppError('timeout', `after ${formatDuration(waitMs)} the server does not answer${seen}`, {
    hint: `see its status: acs sandbox show ${id}`,
    data: { last_status: status, id },
  });
}

/** As settle, with a progress line that shows the wanted states and each new state. */
export async function settleWithProgress(ctx: TimedContext, settling: Settling): Promise<Sandbox> {
  const { id, wanted } = settling;
  const progress = await ctx.progress(`sandbox ${id}: waiting until it is ${wanted.join(' or ')}`);
  try {
    const sandbox = await settle(ctx, {
      ...settling,
      onStatus: (status) => progress.update(`sandbox ${id}: ${status}`),
    });
    await progress.done();
    return sandbox;
  } catch (error) {
    await progress.fail();
    throw error;
  }
}

/** The record of a sandbox that the server no longer has. */
export function gone(id: string, before?: Sandbox): Sandbox {
  return {
    id,
    status_detail: null,
    spec_id: null,
    created_at: null,
    last_active_at: null,
    conversation_ids: [],
    repositories: [],
    ...before,
    status: 'missing',
    urls: [],
  };
}

export async function readOrGone(server: Server, id: string, before?: Sandbox): Promise<Sandbox> {
  try {
    return await server.sandboxes.get(id);
  } catch (error) {
    if (isNotFound(error)) return gone(id, before);
    throw error;
  }
}

/** States a sandbox leaves no more, except by being deleted. */
function isEnd(status: SandboxStatus): boolean {
  return status === 'error' || status === 'missing';
}

function unreachableState({ id, status, status_detail }: Sandbox, wanted: readonly SandboxStatus[]): AppError {
  if (status === 'missing')
    return new AppError('not-found', `sandbox ${id} is gone: it will not become ${wanted.join(' or ')}`);
  const detail = status_detail ? `: ${status_detail.slice(0, 500)}` : '';
  return new AppError('failed', `sandbox ${id} ended in an error${detail}`, {
    hint: `look at it: acs sandbox show ${id}; a new one: acs sandbox start`,
    data: { last_status: status, status_detail },
  });
}
