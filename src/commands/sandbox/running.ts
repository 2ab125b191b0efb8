/** The running sandbox that a command works in: a paused one is resumed first where that is allowed. */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import { limitsAfter, withinDeadline } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import { agreeToResume, START_MS } from '../resource/agree-to-resume.ts';
import { findOne } from '../resource/find.ts';
import { sandboxes } from './sandboxes.ts';
import { waitForStatusWithProgress } from './wait-for-status.ts';

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
    const paused = { what: `sandbox ${id}`, name: `Sandbox ${id}`, status, data: { id, sandbox_status: status } };
    await agreeToResume(ctx, paused, { resume: options.resume, command: options.command(id) });
    await server.sandboxes.resume(id);
  }
  return await withinDeadline(ctx, limitsAfter(ctx, START_MS), (timed) =>
    waitForStatusWithProgress(timed, { server, id, wanted: ['running'] }),
  );
}
