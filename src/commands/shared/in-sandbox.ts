import type { Conversation } from '../../domain/conversation.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { AppError } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Context } from '../context.ts';

export async function conversationsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => server.conversations.list({ pageSize, sandboxId }, page),
    id: byId,
  });
  return items;
}

export async function runsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  return (await conversationsIn(server, sandboxId)).filter(isRunInProgress);
}

/** Throws `conflict`, with the conversations, unless there are none. `about` begins the message. */
export function refuseRunsOf(
  runs: readonly Conversation[],
  { sandboxId, verb, about }: { sandboxId: string; verb: string; about: string },
): void {
  if (runs.length === 0) return;
  const names = runs.map(({ id, status }) => `${id} (${status})`).join(', ');
  throw new AppError('conflict', `${about}: ${names}`, {
    hint: `wait for it, stop it with acs conv stop, or ${verb} the sandbox with --force`,
    data: { sandbox_id: sandboxId, conversation_ids: runs.map(({ id }) => id) },
  });
}

/** A sandbox that is resumed has to be running within this time. */
export const START_MS = 180_000;

export interface ResumeOptions {
  resume?: boolean | undefined;
  /** For the hint: the whole command without --resume; by default that of this run. */
  command?: string | undefined;
}

/** Throws `conflict`, about `what`, unless --resume was given or the user agrees. */
export async function agreeToResume(
  ctx: Context,
  {
    what,
    name,
    status,
    data,
  }: { what: string; name: string; status: string; data: Record<string, unknown> },
  { resume, command }: ResumeOptions,
): Promise<void> {
  if (resume) return;
  const state = status === 'error' ? 'in error' : status;
  if (ctx.terminal.interactive) {
    const prompt = await ctx.terminal.prompt();
    if (await prompt.confirm({ message: `${name} is ${state}. Resume it?`, default: 'yes' }))
      return;
  }
  throw new AppError('conflict', `${what} is ${state}`, {
    hint:
      command === undefined
        ? 'add --resume to start it first'
        : `start it first: ${command} --resume`,
    data,
  });
}
