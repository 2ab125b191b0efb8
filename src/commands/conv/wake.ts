/** Waking the sandbox of a conversation, for commands that need it running. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';

const WAKE_MS = 180_000;
const OLD_ERROR_MS = 5_000;

/** A sandbox in error is woken in the same way: servers start it anew on what it had stored. */
export function isAsleep({ sandbox_status }: Conversation): boolean {
  return sandbox_status === 'paused' || sandbox_status === 'error';
}

/**
 * Wakes it when --resume was given or a person agrees, and waits until it runs.
 * Throws `conflict` when it may not be woken, is gone, or does not come up.
 */
export async function wake(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: { resume?: boolean; command: string },
): Promise<Conversation> {
  const { id, sandbox_id: sandboxId, sandbox_status: status } = conversation;
  if (!options.resume && !(await mayWake(ctx, conversation))) {
    throw new AppError('conflict', `the sandbox of conversation ${id} is ${stateWord(status)}`, {
      hint: `wake it in the same command: ${options.command} --resume`,
      data: { sandbox_id: sandboxId, sandbox_status: status },
    });
  }
  return await wakeNow(ctx, server, conversation);
}

/** As wake, for a command whose very purpose it is. */
export async function wakeNow(ctx: Context, server: Server, conversation: Conversation): Promise<Conversation> {
  const progress = await ctx.progress(`waking ${nameOf(conversation)}`);
  try {
    await server.conversations.wake(conversation.id);
    await untilAwake(ctx, server, conversation);
  } finally {
    await progress.done();
  }
  // Its status may only flash null for a moment, and what it waits for must not be missed.
  return await server.conversations.getSettled(conversation.id);
}

async function mayWake(ctx: Context, conversation: Conversation): Promise<boolean> {
  if (!ctx.interactive) return false;
  const prompt = await ctx.prompt();
  return await prompt.confirm({
    message: `${nameOf(conversation)} is ${stateWord(conversation.sandbox_status)}. Wake it?`,
    default: 'yes',
  });
}

function stateWord(status: Conversation['sandbox_status']): string {
  return status === 'error' ? 'in error' : 'paused';
}

/** V0 has no sandboxes to name. */
function nameOf({ id, sandbox_id: sandboxId }: Conversation): string {
  return sandboxId === null ? `conversation ${id}` : `sandbox ${sandboxId}`;
}

async function untilAwake(ctx: Context, server: Server, conversation: Conversation): Promise<void> {
  const { clock, signal } = ctx;
  const startMs = clock.now();
  const until = startMs + WAKE_MS;
  // The error that it is started from may be reported for a moment longer.
  const errorCountsAtMs = conversation.sandbox_status === 'error' ? startMs + OLD_ERROR_MS : startMs;
  const isAwake = async (): Promise<true | undefined> => {
    const { sandbox_id: sandboxId, sandbox_status: status, ...read } = await server.conversations.get(conversation.id);
    // A V0 agent loads for a while after what it runs in is up.
    if (status === 'running' && read.status !== 'starting') return true;
    const failed = (status === 'error' && clock.now() >= errorCountsAtMs) || status === 'missing';
    if (!failed && clock.now() < until) return undefined;
    const detail = sandboxId === null ? null : (await server.sandboxes.get(sandboxId)).status_detail;
    throw new AppError(
      'conflict',
      `${nameOf(conversation)} does not wake: it is ${status ?? 'unknown'}${detail ? `: ${detail}` : ''}`,
      { data: { sandbox_id: sandboxId, sandbox_status: status } },
    );
  };
  await poll(isAwake, { clock, signal, every: STEADY });
}
