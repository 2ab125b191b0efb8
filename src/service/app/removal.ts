import { rmSync } from 'node:fs';
import { deleteEventLog, eventLogFile } from '../storage/event-log.ts';
import type { AppContext } from './context.ts';

/**
 * Deletes a conversation, its sub-conversations, their events, and the sandbox when it has no other conversation.
 * False: no such conversation.
 */
export async function removeConversation(context: AppContext, id: string): Promise<boolean> {
  const { store, supervisor } = context;
  const row = store.conversations.get(id);
  if (row === null) return false;
  for (const child of store.conversations.childrenOf(id)) await removeConversation(context, child);
  const { sandbox_id: sandboxId } = row;
  const isAlone = sandboxId !== null && store.conversations.ofSandbox(sandboxId).every((other) => other.id === id);
  if (sandboxId !== null && !isAlone && store.sandboxes.get(sandboxId)?.status === 'RUNNING') {
    // The worker has the log open; one that cannot be reached does not keep the conversation alive.
    await supervisor.send(sandboxId, { method: 'DELETE', path: `/api/conversations/${id}` }).catch(() => undefined);
  }
  store.conversations.remove(id);
  context.logs.forget(id);
  if (sandboxId === null) return true;
  if (isAlone) {
    const removed = supervisor.remove(sandboxId);
    removed.then(
      () => {
        rmSync(supervisor.eventsOf(sandboxId), { recursive: true, force: true });
      },
      (error: unknown) => {
        context.log(`sandbox ${sandboxId} could not be removed: ${String(error)}`);
      },
    );
  } else deleteEventLog(eventLogFile(supervisor.eventsOf(sandboxId), id));
  return true;
}
