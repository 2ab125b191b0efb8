/** Starts the paused sandbox of a conversation for commands that need it running. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { AppError } from '../../errors.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Server } from '../../servers/server.ts';
import { agreeToResume, type ResumeOptions, START_MS } from '../resource/agree-to-resume.ts';

const OLD_ERROR_MS = 5_000;

/** A sandbox in error is resumed too: servers start it again on the files it has stored. */
export function needsResume({ sandbox_status }: Conversation): boolean {
  return sandbox_status === 'paused' || sandbox_status === 'error';
}

/**
 * Resumes the sandbox when --resume was given or the user agrees, and waits until it is running.
 * @throws `conflict` when neither is the case, or the sandbox is missing or does not start
 */
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

/** As resumeSandbox, without a question: for `conv resume` and where `--resume` was given. */
export async function resumeSandboxNow(
  ctx: Context,
  server: Server,
  conversation: Conversation,
): Promise<Conversation> {
  const progress = await ctx.progress(`resuming ${nameOf(conversation)}`);
  try {
    await server.conversations.startSandbox(conversation.id);
    await untilRunning(ctx, server, conversation);
  } finally {
    await progress.done();
  }
  // Right after a start the run status may be null for a moment; a pending confirmation must not be missed.
  return await server.conversations.getComplete(conversation.id);
}

/** A V0 conversation has no sandbox id. */
function nameOf({ id, sandbox_id: sandboxId }: Conversation): string {
  return sandboxId === null ? `conversation ${id}` : `sandbox ${sandboxId}`;
}

async function untilRunning(ctx: Context, server: Server, conversation: Conversation): Promise<void> {
  const { clock, signal } = ctx;
  const startMs = clock.now();
  const until = startMs + START_MS;
  // The error of before the start may be reported for a moment longer.
  const errorCountsAtMs = conversation.sandbox_status === 'error' ? startMs + OLD_ERROR_MS : startMs;
  const hasStarted = async (): Promise<true | undefined> => {
    const { sandbox_id: sandboxId, sandbox_status: status, ...read } = await server.conversations.get(conversation.id);
    // A V0 conversation is `starting` for a while after its sandbox is running.
    if (status === 'running' && read.status !== 'starting') return true;
    const failed = (status === 'error' && clock.now() >= errorCountsAtMs) || status === 'missing';
    if (!failed && clock.now() < until) return undefined;
    const detail = sandboxId === null ? null : (await server.sandboxes.get(sandboxId)).status_detail;
    throw new AppError(
      'conflict',
      `${nameOf(conversation)} did not start: its status is ${status ?? 'unknown'}${detail ? `: ${detail}` : ''}`,
      { data: { sandbox_id: sandboxId, sandbox_status: status } },
    );
  };
  await poll(hasStarted, { clock, signal, every: STEADY });
}
