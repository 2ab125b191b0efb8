/** The conversations that share a sandbox. */
import type { Conversation } from '../../domain/conversation.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { isRunInProgress } from '../../runs/status.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';

export async function conversationsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => server.conversations.list({ pageSize, sandboxId }, page),
    id: byId,
  });
  return items;
}

/** Those whose run is in progress. */
export async function runsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  return (await conversationsIn(server, sandboxId)).filter(isRunInProgress);
}

/**
 * Throws `conflict`, with the conversations, unless there are none.
 * @param runs in progress, which `verb` would end
 * @param about begins the message
 */
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
