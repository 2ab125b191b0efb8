/** Pauses or resumes one sandbox, and waits until it has the status. */
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Change } from '../bulk.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import type { Target } from '../resource/resource.ts';
import type { SandboxRequest } from './change.ts';
import { waitForStatus, waitForStatusWithProgress, type StatusWait } from './wait-for-status.ts';

export interface Transition {
  to: 'paused' | 'running';
  request(server: Server, id: string): Promise<void>;
}

export const PAUSE: Transition = { to: 'paused', request: (server, id) => server.sandboxes.pause(id) };
export const RESUME: Transition = { to: 'running', request: (server, id) => server.sandboxes.resume(id) };

/** Idempotent: a sandbox that has the status gets no request, and `resume` of one that is starting only waits. */
export async function moveSandbox(
  ctx: TimedContext,
  transition: Transition,
  target: Target<Sandbox>,
  request: SandboxRequest,
): Promise<Change<Sandbox>> {
  const { server, id, seen: before } = target;
  const { deadline } = ctx;
  if (before.status === transition.to) {
    return { changed: false, before: before.status, after: before.status, record: before };
  }
  if (before.status === 'missing') throw new AppError('not-found', `sandbox ${id} is gone`);
  const isStarting = before.status === 'starting' && transition.to === 'running';
  try {
    if (!isStarting) await transition.request(server, id);
  } catch (error) {
    // The server may have carried it out: the read after the deadline shows.
    if (!deadline.isOver(error)) throw error;
  }
  const after = await stateAfter(ctx, transition, target, request);
  // Without the wait the server may have done nothing yet.
  const changed = !isStarting && after.status !== before.status;
  return { changed, before: before.status, after: after.status, record: after };
}

async function stateAfter(
  ctx: TimedContext,
  { to }: Transition,
  { server, id }: Target<Sandbox>,
  { options, result }: SandboxRequest,
): Promise<Sandbox> {
  if (options.wait === false) return await server.sandboxes.get(id);
  const wait: StatusWait = { server, id, wanted: [to] };
  return result === 'object' ? await waitForStatusWithProgress(ctx, wait) : await waitForStatus(ctx, wait);
}
