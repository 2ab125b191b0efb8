/** Stores what workers report of their conversations. Lists are made from the store; the logs are authoritative. */
import type { Store } from '../storage/index.ts';
import { isGivenTitle, type ConversationChange } from '../storage/conversations.ts';
import type { EventLogs } from '../storage/event-logs.ts';
import type { ConversationNotice } from '../sandboxes/worker-protocol.ts';

export interface NoticeKeeper {
  keep(sandboxId: string, notice: ConversationNotice): void;
  /** Writes what is still waiting. */
  close(): void;
}

/** A run reports many times a second: times and costs are written at this interval, a change of status at once. */
const WRITE_PAUSE_MS = 500;
const RETRY_PAUSE_MS = 1000;

export function createNoticeKeeper(store: Store, logs: EventLogs, log: (line: string) => void): NoticeKeeper {
  const waiting = new Map<string, ConversationChange>();
  /** The time of the last report, by sandbox. */
  const used = new Map<string, string>();
  const lastStatus = new Map<string, string>();
  const lastTitle = new Map<string, string>();
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  const write = (): void => {
    timer = null;
    const changes = [...waiting];
    try {
      store.transaction(() => {
        for (const [id, change] of changes) store.conversations.update(id, change);
        for (const [id, last_active_at] of used) store.sandboxes.update(id, { last_active_at });
      });
      waiting.clear();
      used.clear();
    } catch (error) {
      // A full disk: the worker does not report it again, so it stays here until it can be written.
      for (const [id, change] of changes) store.conversations.remember(id, change);
      log(`the state of ${changes.length} conversations could not be written: ${String(error)}`);
      later(RETRY_PAUSE_MS);
    }
  };
  const later = (pauseMs: number): void => {
    if (isClosed) return; // the logs keep it, and the next service reads them
    timer ??= setTimeout(write, pauseMs);
    timer.unref();
  };
  // A title that the user gave must not be replaced by the earlier one that the worker repeats.
  const isNewTitle = (id: string, title: string): boolean => {
    const row = store.conversations.get(id);
    if (row === null) return false; // its start reads the title from the log
    const before = lastTitle.get(id);
    lastTitle.set(id, title);
    return before === undefined ? isGivenTitle(row) : before !== title;
  };
  return {
    keep(sandboxId, notice) {
      const { conversation_id: id, execution_status, metrics, updated_at, title } = notice;
      if (notice.deleted) {
        logs.forget(id);
        lastStatus.delete(id);
        waiting.delete(id);
        store.conversations.update(id, { execution_status: null });
        return;
      }
      const change: ConversationChange = { ...waiting.get(id), execution_status, metrics, updated_at };
      if (title !== null && isNewTitle(id, title)) change.title = title;
      waiting.set(id, change);
      if (lastStatus.get(id) !== execution_status) {
        lastStatus.set(id, execution_status);
        used.set(sandboxId, updated_at);
        if (timer !== null) clearTimeout(timer);
        write();
      } else later(WRITE_PAUSE_MS);
    },
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      write();
    },
  };
}
