/** Pausing and resuming: one state asked for, taken or already there, and waited for. */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { Change } from '../bulk.ts';
import type { SandboxTarget } from './change.ts';
import { settle, waitDeadlineMs, type WaitOptions } from './settle.ts';

export interface Transition {
  to: 'paused' | 'running';
  /** `paused`, `running`: for progress. */
  request(server: Server, id: string): Promise<void>;
}

export const PAUSE: Transition = { to: 'paused', request: (server, id) => server.sandboxes.pause(id) };
export const RESUME: Transition = { to: 'running', request: (server, id) => server.sandboxes.resume(id) };

/** Idempotent: a sandbox that is there already is left as it is, and one on its way is only waited for. */
export async function moveSandbox(
  ctx: Context,
  transition: Transition,
  { server, id }: SandboxTarget,
  options: WaitOptions,
): Promise<Change<Sandbox>> {
  const before = await server.sandboxes.get(id);
  if (before.status === transition.to) {
    return { changed: false, before: before.status, after: before.status, record: before };
  }
  if (before.status === 'missing') throw new AppError('not-found', `sandbox ${id} is gone`);
  const isOnItsWay = before.status === 'starting' && transition.to === 'running';
  if (!isOnItsWay) await transition.request(server, id);
  const after =
    options.wait === false ? await server.sandboxes.get(id) : await waitFor(ctx, transition, { server, id, options });
  return { changed: !isOnItsWay, before: before.status, after: after.status, record: after };
}

async function waitFor(
  ctx: Context,
  { to }: Transition,
  { server, id, options }: { server: Server; id: string; options: WaitOptions },
): Promise<Sandbox> {
  const progress = await ctx.progress(`sandbox ${id}: waiting until it is ${to}`);
  try {
    const deadlineMs = waitDeadlineMs(ctx, options);
    const onStatus = (status: string) => progress.update(`sandbox ${id}: ${status}`);
    const sandbox = await settle(ctx, { server, id, wanted: [to], deadlineMs, onStatus });
    await progress.done();
    return sandbox;
  } catch (error) {
    await progress.fail();
    throw error;
  }
}
