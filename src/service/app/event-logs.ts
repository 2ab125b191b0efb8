/** The event logs of conversations, read beside the workers that write them. */
import { eventLogFile, openEventLogReadOnly, type EventLog } from '../event-log.ts';
import type { ConversationRow } from '../store/conversations.ts';
import type { Supervisor } from './supervisor.ts';

/** Reads from a conversation's log; null when it has none. The log is closed afterwards. */
export function readLog<Result>(
  supervisor: Supervisor,
  row: Pick<ConversationRow, 'id' | 'sandbox_id'>,
  read: (log: EventLog) => Result,
): Result | null {
  if (row.sandbox_id === null) return null;
  const log = openEventLogReadOnly(eventLogFile(supervisor.eventsOf(row.sandbox_id), row.id));
  if (log === null) return null;
  try {
    return read(log);
  } finally {
    log.close();
  }
}

/** What the log says of the conversation, as far as the store keeps it too; null: there is no log. */
export function stateInLog(
  eventsDir: string,
  conversationId: string,
): Pick<ConversationRow, 'execution_status' | 'metrics' | 'updated_at'> | null {
  const log = openEventLogReadOnly(eventLogFile(eventsDir, conversationId));
  if (log === null) return null;
  try {
    const state = log.readState();
    if (state === null) return null;
    return { execution_status: state.execution_status, metrics: state.metrics, updated_at: state.updated_at };
  } finally {
    log.close();
  }
}
