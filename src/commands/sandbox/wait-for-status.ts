/** Waits until a sandbox has a status: servers answer a request for a change before the change is complete. */
import type { SandboxStatus } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import { readOrGone } from './sandboxes.ts';

export interface StatusWait {
  server: Server;
  id: string;
  /** Statuses that end the wait successfully. */
  wanted: readonly SandboxStatus[];
  /** Called with each new status. */
  onStatus?: (status: SandboxStatus) => void;
}

/**
 * Waits until the deadline of the command; the status that is read after it counts too.
 * @returns the sandbox with one of the wanted statuses; where `missing` is wanted, `gone(id)` for one that was deleted
 * @throws `failed` for a sandbox in error and `not-found` for one that was deleted, both only where that status is not
 * wanted; `timeout` with the last status
 */
export async function waitForStatus(ctx: TimedContext, { server, id, wanted, onStatus }: StatusWait): Promise<Sandbox> {
  const { deadline } = ctx;
  let status: SandboxStatus | null = null;
  const ifWanted = (sandbox: Sandbox): Sandbox | undefined => {
    if (sandbox.status !== status) onStatus?.(sandbox.status);
    status = sandbox.status;
    if (wanted.includes(status)) return sandbox;
    if (isEnd(status)) throw unreachableStatus(sandbox, wanted);
    return undefined;
  };
  try {
    return await poll(async () => ifWanted(await readOrGone(server, id)), {
      clock: ctx.clock,
      signal: ctx.signal,
      every: STEADY,
    });
  } catch (error) {
    if (!deadline.isOver(error)) throw error;
  }
  const last = await deadline.lastLook(server, (awake) => readOrGone(awake, id));
  if (last === null) throw unanswered(id, status, deadline.waitMs);
  const sandbox = ifWanted(last);
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

/** As waitForStatus, with a progress line that shows the wanted statuses and each new status. */
export async function waitForStatusWithProgress(ctx: TimedContext, wait: StatusWait): Promise<Sandbox> {
  const { id, wanted } = wait;
  const progress = await ctx.progress(`sandbox ${id}: waiting until it is ${wanted.join(' or ')}`);
  try {
    const sandbox = await waitForStatus(ctx, {
      ...wait,
      onStatus: (status) => progress.update(`sandbox ${id}: ${status}`),
    });
    await progress.done();
    return sandbox;
  } catch (error) {
    await progress.fail();
    throw error;
  }
}

/** A sandbox in error keeps this status until it is deleted. */
function isEnd(status: SandboxStatus): boolean {
  return status === 'error' || status === 'missing';
}

function unreachableStatus({ id, status, status_detail }: Sandbox, wanted: readonly SandboxStatus[]): AppError {
  if (status === 'missing')
    return new AppError('not-found', `sandbox ${id} is gone: it will not become ${wanted.join(' or ')}`);
  const detail = status_detail ? `: ${status_detail.slice(0, 500)}` : '';
  return new AppError('failed', `sandbox ${id} ended in an error${detail}`, {
    hint: `look at it: acs sandbox show ${id}; a new one: acs sandbox start`,
    data: { last_status: status, status_detail },
  });
}
