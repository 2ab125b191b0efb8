/** The conversations that share a sandbox. */
import type { Conversation } from '../../domain/conversation.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { isRunInProgress } from '../../domain/selectors.ts';
import type { Server } from '../../servers/server.ts';

export async function conversationsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => server.conversations.list({ pageSize, sandboxId }, page),
    id: byId,
    // Some releases ignore the condition.
    filter: (one) => one.sandbox_id === sandboxId,
  });
  return items;
}

/** Those whose run is in progress. */
export async function runsIn(server: Server, sandboxId: string): Promise<Conversation[]> {
  return (await conversationsIn(server, sandboxId)).filter(isRunInProgress);
}
