/** The running sandbox that a command works in: a paused one is resumed first where that is allowed. */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import { limitsAfter, withinDeadline } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import { findOne } from '../resource/find.ts';
import { sandboxes } from './sandboxes.ts';
import { waitForStatusWithProgress } from './wait-for-status.ts';

const START_MS = 180_000;

/**
 * @param options.command of the user, without --resume: for the hint
 * @throws `conflict` when it is paused or in error and may not be resumed; `not-found`, `failed`, `timeout`
 */
export async function findRunning(
  ctx: Context,
  server: Server,
  word: string,
  options: { resume?: boolean; command: (id: string) => string },
): Promise<Sandbox> {
  const sandbox = await findOne(ctx, server, sandboxes, word);
  const { id, status } = sandbox;
  if (status === 'running') return sandbox;
  if (status === 'missing') throw new AppError('not-found', `sandbox ${id} is gone`);
  if (status !== 'starting') {
    if (!options.resume && !(await mayResume(ctx, sandbox))) {
      throw new AppError('conflict', `sandbox ${id} is ${status === 'error' ? 'in error' : status}`, {
        hint: `resume it in the same command: ${options.command(id)} --resume`,
        data: { id, sandbox_status: status },
      });
    }
    await server.sandboxes.resume(id);
  }
  return await withinDeadline(ctx, limitsAfter(ctx, START_MS), (timed) =>
    waitForStatusWithProgress(timed, { server, id, wanted: ['running'] }),
  );
}

async function mayResume(ctx: Context, { id, status }: Sandbox): Promise<boolean> {
  if (!ctx.interactive) return false;
  const prompt = await ctx.prompt();
  const state = status === 'error' ? 'in error' : status;
  return await prompt.confirm({ message: `Sandbox ${id} is ${state}. Resume it?`, default: 'yes' });
}
