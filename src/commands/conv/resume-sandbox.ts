import type { Context } from '../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../base/errors.ts';
import { poll, readThroughOutage, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../client/shared/server.ts';
import { agreeToResume, START_MS, type ResumeOptions } from '../shared/in-sandbox.ts';

/** A sandbox in error is resumed too: servers start it again on the files it has stored. */
export function needsResume({ sandbox_status }: Conversation): boolean {
  return sandbox_status === 'paused' || sandbox_status === 'error';
}

/** Throws `conflict` without consent, and when the sandbox is missing or does not start. */
export async function resumeSandbox(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: ResumeOptions,
): Promise<Conversation> {
  const { id, sandbox_id, sandbox_status } = conversation;
  const paused = {
    what: `the sandbox of conversation ${id}`,
    name: nameOf(conversation),
    status: sandbox_status === 'error' ? 'error' : 'paused',
    data: { sandbox_id, sandbox_status },
  };
  await agreeToResume(ctx, paused, options);
  return await resumeSandboxNow(ctx, server, conversation);
}

/** Asks no question. */
export async function resumeSandboxNow(
  ctx: Context,
  server: Server,
  conversation: Conversation,
): Promise<Conversation> {
  const { id } = conversation;
  const { clock, signal } = ctx;
  const progress = await ctx.terminal.progress(`resuming ${nameOf(conversation)}`);
  try {
    await server.conversations.startSandbox(id);
    const until = clock.now() + START_MS;
    // The error of before the start may be reported for a moment longer.
    const errorCountsAtMs = clock.now() + (conversation.sandbox_status === 'error' ? 5_000 : 0);
    const hasStarted = async (): Promise<true | undefined> => {
      const { sandbox_id, sandbox_status, status } = await server.conversations.get(id);
      // A V0 conversation is `starting` for a while after its sandbox is running.
      if (sandbox_status === 'running' && status !== 'starting') return true;
      const hasFailed =
        sandbox_status === 'missing' ||
        (sandbox_status === 'error' && clock.now() >= errorCountsAtMs);
      if (!hasFailed && clock.now() < until) return undefined;
      const detail =
        sandbox_id === null ? null : (await server.sandboxes.get(sandbox_id)).status_detail;
      const state = `its status is ${sandbox_status ?? 'unknown'}${detail ? `: ${detail}` : ''}`;
      throw new AppError('conflict', `${nameOf(conversation)} did not start: ${state}`, {
        data: { sandbox_id, sandbox_status },
      });
    };
    await poll(hasStarted, { clock, signal, every: STEADY });
  } finally {
    await progress.done();
  }
  // Right after a start the run status may be null; a pending confirmation must not be missed.
  return await readThroughOutage(ctx, () => server.conversations.getComplete(id));
}

/** A V0 conversation has no sandbox id. */
function nameOf({ id, sandbox_id: sandboxId }: Conversation): string {
  return sandboxId === null ? `conversation ${id}` : `sandbox ${sandboxId}`;
}
