/** The event logs of conversations, read beside the workers that write them. */
import path from 'node:path';
import { eventLogFile, openEventLogReadOnly, type EventLog } from './event-log.ts';
import type { ConversationRow } from './conversations.ts';

/** The logs of a service. They are kept open: the database gives a closed one back only when memory is collected. */
export interface EventLogs {
  /** Reads from a conversation's log; null when it has none. */
  read<Result>(row: Pick<ConversationRow, 'id' | 'sandbox_id'>, work: (log: EventLog) => Result): Result | null;
  /** Closes a log that is being deleted. */
  forget(conversationId: string): void;
  close(): void;
}

const MAX_OPEN = 32;

/** @param eventsDir folder of `<sandbox>/<conversation>.db` */
export function createEventLogs(eventsDir: string): EventLogs {
  const open = new Map<string, { file: string; log: EventLog }>();
  const forget = (id: string): void => {
    open.get(id)?.log.close();
    open.delete(id);
  };
  const logOf = (id: string, sandboxId: string): EventLog | null => {
    const file = eventLogFile(path.join(eventsDir, sandboxId), id);
    const known = open.get(id);
    if (known !== undefined && known.file !== file) forget(id);
    const log = known?.file === file ? known.log : openEventLogReadOnly(file);
    if (log === null) return null;
    open.delete(id);
    open.set(id, { file, log }); // the last one is the one used last
    const [oldest] = open.keys();
    if (open.size > MAX_OPEN && oldest !== undefined) forget(oldest);
    return log;
  };
  return {
    read(row, work) {
      const log = row.sandbox_id === null ? null : logOf(row.id, row.sandbox_id);
      return log === null ? null : work(log);
    },
    forget,
    close() {
      for (const id of [...open.keys()]) forget(id);
    },
  };
}

/** The members of the log's state that the store has, too; null: there is no log. */
export function stateInLog(
  eventsDir: string,
  conversationId: string,
): Pick<ConversationRow, 'execution_status' | 'metrics' | 'updated_at' | 'title'> | null {
  const log = openEventLogReadOnly(eventLogFile(eventsDir, conversationId));
  if (log === null) return null;
  try {
    const state = log.readState();
    if (state === null) return null;
    const { execution_status, metrics, updated_at, title } = state;
    return { execution_status, metrics, updated_at, title };
  } finally {
    log.close();
  }
}
