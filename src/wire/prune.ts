/** Finds what `serve --prune` deletes at the local service: old conversations with their events, and unused sandboxes. */
import type { ConversationStatus } from '../domain/conversation.ts';
import { byId, collectPages } from '../domain/pages.ts';
import { isAppError, isNotFound } from '../errors.ts';
import { isRunInProgress, isUnfinished } from '../runs/status.ts';
import type { Server } from '../servers/server.ts';
import type { OldConversation, OldThing, OldThings } from '../service-control.ts';

/** @param before milliseconds since the epoch; what was changed later is kept */
export async function findOld(server: Server, before: number): Promise<OldThings> {
  const isOld = (time: string | null) => time !== null && Date.parse(time) < before;
  const { items: all } = await collectPages({
    fetch: (page, pageSize) => server.conversations.list({ pageSize }, page),
    id: byId,
  });
  const { items: sandboxes } = await collectPages({
    fetch: (page, pageSize) => server.sandboxes.list(page, pageSize),
    id: byId,
  }).catch(noneOverV0);
  // The conversation of a sandbox that was resumed or used by hand since then is kept.
  const usedSince = new Set(
    sandboxes.filter((one) => !isOld(one.last_active_at ?? one.created_at)).map(({ id }) => id),
  );
  const ended = all.filter((conversation) => {
    const { updated_at, created_at, sandbox_id } = conversation;
    return !isRunInProgress(conversation) && isOld(updated_at ?? created_at) && !usedSince.has(sandbox_id ?? '');
  });
  // A sandbox is deleted with its last conversation; the ones without a conversation were started by hand.
  const inUse = new Set(all.map((one) => one.sandbox_id));
  const alone = sandboxes.filter(({ id }) => !inUse.has(id) && !usedSince.has(id));
  const conversations: OldConversation[] = [];
  for (const { id, status } of ended) {
    const state = status === 'paused' ? await statusOfRun(server, id) : status;
    const { remove } = thing(id, () => server.conversations.remove(id));
    conversations.push({
      id,
      // Read again: the run may have been started during the prompt.
      remove: async () => ((await isAtWork(server, id)) ? 'at-work' : await remove()),
      state: state ?? 'unknown',
      isUnfinished: state !== null && isUnfinished(state),
    });
  }
  return { conversations, sandboxes: alone.map(({ id }) => thing(id, () => server.sandboxes.remove(id))) };
}

/** The status of the run in a paused sandbox. Null: the conversation cannot be read or was deleted since. */
async function statusOfRun(server: Server, id: string): Promise<ConversationStatus | null> {
  try {
    return (await server.conversations.getComplete(id)).status;
  } catch (error) {
    if (isAppError(error) && (error.kind === 'not-found' || error.kind === 'server')) return null;
    throw error;
  }
}

async function isAtWork(server: Server, id: string): Promise<boolean> {
  try {
    return isRunInProgress(await server.conversations.get(id));
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** A service that serves only V0 has no route that lists or starts sandboxes. */
function noneOverV0(error: unknown): { items: never[] } {
  if (isAppError(error) && error.kind === 'unsupported') return { items: [] };
  throw error;
}

/** An OldThing; `remove` succeeds when the server no longer has it. */
function thing(id: string, remove: () => Promise<void>): OldThing {
  const missing = (error: unknown) => {
    if (!isAppError(error) || error.kind !== 'not-found') throw error;
  };
  const removed = async () => {
    await remove().catch(missing);
    return 'gone' as const;
  };
  return { id, remove: removed };
}
