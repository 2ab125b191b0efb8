/** Messages that had to wait: delivered when their conversation has started, or its sandbox runs again. */
import type { Store } from '../storage/index.ts';
import { textOf } from '../sandboxes/agent-client.ts';
import { SandboxUnavailable, type Supervisor } from '../sandboxes/supervisor.ts';

export interface Delivery {
  store: Store;
  supervisor: Supervisor;
  log(line: string): void;
}

/** Delivers what waits for a conversation, in order; what cannot be delivered now goes on waiting. */
export async function deliverPending({ store, supervisor, log }: Delivery, conversationId: string): Promise<void> {
  const row = store.conversations.get(conversationId);
  if (row?.sandbox_id == null || row.start_state !== 'ready') return;
  for (const message of store.pendingMessages.list(conversationId)) {
    const json = { role: message.role, content: message.content, run: true };
    const request = { method: 'POST' as const, path: `/api/conversations/${conversationId}/events`, json };
    try {
      const answer = await supervisor.send(row.sandbox_id, request);
      if (answer.status === 409 || answer.status >= 500) return;
      if (answer.status >= 400) log(`pending message ${message.id} was refused: ${textOf(answer)}`);
      store.pendingMessages.remove(message.id);
    } catch (error) {
      if (error instanceof SandboxUnavailable) return;
      throw error;
    }
  }
}

/** Delivers what waits for the conversations of a sandbox, once it runs. */
export async function deliverWhenRunning(delivery: Delivery, sandboxId: string): Promise<void> {
  try {
    await delivery.supervisor.whenRunning(sandboxId);
    for (const { id } of delivery.store.conversations.ofSandbox(sandboxId)) await deliverPending(delivery, id);
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) delivery.log(`pending messages were not delivered: ${String(error)}`);
  }
}
