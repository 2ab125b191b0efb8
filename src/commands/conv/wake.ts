/** Waking the sandbox of a conversation, for commands that need it running. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';

const WAKE_MS = 180_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

export function isAsleep({ sandbox_status }: Conversation): boolean {
  return sandbox_status === 'paused';
}

/**
 * Resumes the sandbox when --resume was given or a person agrees, and waits until it runs.
 * Throws `conflict` when it may not be woken, is gone, or does not come up.
 */
export async function wake(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: { resume?: boolean; command: string },
): Promise<Conversation> {
  const { id, sandbox_id: sandboxId } = conversation;
  if (sandboxId === null) throw new AppError('conflict', `conversation ${id} has no sandbox that could be woken`);
  if (!options.resume && !(await mayResume(ctx, sandboxId))) {
    throw new AppError('conflict', `the sandbox of conversation ${id} is paused`, {
      hint: `wake it in the same command: ${options.command} --resume`,
      data: { sandbox_id: sandboxId, sandbox_status: 'paused' },
    });
  }
  const progress = await ctx.progress(`waking sandbox ${sandboxId}`);
  try {
    await server.sandboxes.resume(sandboxId);
    await untilRunning(ctx, server, sandboxId);
  } finally {
    await progress.done();
  }
  return await server.conversations.get(id);
}

async function mayResume(ctx: Context, sandboxId: string): Promise<boolean> {
  if (!ctx.interactive) return false;
  const prompt = await ctx.prompt();
  return await prompt.confirm({ message: `sandbox ${sandboxId} is paused. Wake it?`, default: 'yes' });
}

async function untilRunning(ctx: Context, server: Server, sandboxId: string): Promise<void> {
  const untilMs = ctx.clock.now() + WAKE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const { status, status_detail: detail } = await server.sandboxes.get(sandboxId);
    if (status === 'running') return;
    if (status === 'error' || status === 'missing' || ctx.clock.now() >= untilMs) {
      throw new AppError(
        'conflict',
        `sandbox ${sandboxId} does not wake: it is ${status}${detail ? `: ${detail}` : ''}`,
        {
          data: { sandbox_id: sandboxId, sandbox_status: status },
        },
      );
    }
    await ctx.clock.sleep(pauseMs, ctx.signal);
  }
}
