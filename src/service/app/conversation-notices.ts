/** Stores what workers report of their conversations, for lists; the logs are authoritative. */
import type { Store } from '../storage/index.ts';
import { hasDefaultTitle, type ConversationRow } from '../storage/conversations.ts';
import type { EventLogs } from '../storage/event-logs.ts';
import type { ConversationNotice } from '../base/worker-protocol.ts';

/** A run reports many times a second; a change of status is written at once. */
const WRITE_PAUSE_MS = 500;

export function createNoticeKeeper(store: Store, logs: EventLogs, log: (line: string) => void) {
  const waiting = new Map<string, Partial<ConversationRow>>();
  const used = new Map<string, string>();
  const last = new Map<string, { status: string | null; title: string | null }>();
  let timer: NodeJS.Timeout | null = null;
  /** What a full disk refuses is written with the next notice, or recovered from the logs. */
  const write = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    try {
      store.transaction(() => {
        for (const [id, change] of waiting) store.conversations.update(id, change);
        for (const [id, last_active_at] of used) store.sandboxes.update(id, { last_active_at });
      });
      waiting.clear();
      used.clear();
    } catch (error) {
      log(`the state of ${waiting.size} conversations could not be written: ${String(error)}`);
    }
  };
  return {
    keep(
      sandboxId: string,
      { conversation_id: id, deleted, title, ...reported }: ConversationNotice,
    ): void {
      if (deleted) {
        logs.forget(id);
        last.delete(id);
        waiting.set(id, { execution_status: null });
        return write();
      }
      const { execution_status, metrics, updated_at } = reported;
      const change: Partial<ConversationRow> = {
        ...waiting.get(id),
        execution_status,
        metrics,
        updated_at,
      };
      const before = last.get(id) ?? { status: null, title: null };
      let known = before.title;
      const row = store.conversations.get(id); // null: its start reads the title from the log
      if (row !== null && title !== null) {
        // A title that the user gave must not be replaced by the earlier one of the worker.
        if (known === null ? hasDefaultTitle(row) : known !== title) change.title = title;
        known = title;
      }
      waiting.set(id, change);
      last.set(id, { status: execution_status, title: known });
      if (before.status === execution_status) timer ??= setTimeout(write, WRITE_PAUSE_MS).unref();
      else {
        used.set(sandboxId, updated_at);
        write();
      }
    },
    close: write,
  };
}
