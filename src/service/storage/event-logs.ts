import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import type { ConversationState } from './conversation-state.ts';
import { eventLogFile, openEventLogReadOnly, parseStored, type EventLog } from './event-log.ts';
import type { ConversationRow } from './conversations.ts';
import { damage } from './storage-error.ts';

/**
 * The logs of a service. They are kept open: the database gives a closed one back only when memory
 * is collected.
 */
export interface EventLogs {
  read<Result>(
    row: Pick<ConversationRow, 'id' | 'sandbox_id'>,
    work: (log: EventLog) => Result,
  ): Result | null;
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
  return {
    read({ id, sandbox_id }, work) {
      if (sandbox_id === null) return null;
      const file = eventLogFile(path.join(eventsDir, sandbox_id), id);
      const known = open.get(id);
      if (known !== undefined && known.file !== file) forget(id);
      try {
        const log = known?.file === file ? known.log : openEventLogReadOnly(file);
        if (log === null) return null;
        open.delete(id);
        open.set(id, { file, log }); // the last one is the one used last
        const [oldest] = open.keys();
        if (open.size > MAX_OPEN && oldest !== undefined) forget(oldest);
        return work(log);
      } catch (error) {
        throw damage(`${(error as Error).message} (${file})`);
      }
    },
    forget,
    close() {
      for (const id of [...open.keys()]) forget(id);
    },
  };
}

export function stateInLog(eventsDir: string, conversationId: string) {
  const log = openEventLogReadOnly(eventLogFile(eventsDir, conversationId));
  try {
    const state = log?.read('state') ?? null;
    if (state === null) return null;
    const { execution_status, metrics, updated_at, title } = state;
    return { execution_status, metrics, updated_at, title };
  } finally {
    log?.close();
  }
}

/**
 * Leaves out logs that cannot be read. One connection for all: its files stay open until memory is
 * collected.
 */
export function readLogStates(
  eventsDir: string,
  log: (line: string) => void,
): Map<string, ConversationState> {
  const states = new Map<string, ConversationState>();
  const names = existsSync(eventsDir) ? readdirSync(eventsDir) : [];
  const ids = names.flatMap((name) => /^([0-9a-f]{32})\.db$/.exec(name)?.[1] ?? []);
  if (ids.length === 0) return states;
  const database = new Database(':memory:');
  for (const id of ids) {
    try {
      const state = readState(database, eventLogFile(eventsDir, id));
      if (state !== null) states.set(id, state);
    } catch (error) {
      log(`conversation ${id}: its log cannot be read: ${String(error)}`);
    }
  }
  database.close();
  return states;
}

function readState(database: Database.Database, file: string): ConversationState | null {
  const { href } = pathToFileURL(file);
  // A log without a write-ahead log is opened read-only, which creates no file.
  const address = existsSync(`${file}-wal`) ? href : `${href}?immutable=1`;
  database.exec(`ATTACH '${address.replaceAll("'", "''")}' AS log`);
  try {
    const hasSchema = database
      .prepare("SELECT 1 FROM log.sqlite_master WHERE name = 'documents'")
      .get();
    if (hasSchema === undefined) return null;
    const row = database.prepare("SELECT body FROM log.documents WHERE name = 'state'").get();
    return row === undefined
      ? null
      : parseStored<ConversationState>((row as { body: string }).body);
  } finally {
    database.exec('DETACH log');
  }
}
