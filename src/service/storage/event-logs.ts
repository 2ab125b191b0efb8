import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import type { ConversationState } from './conversation-state.ts';
import { eventLogFile, openEventLogReadOnly, parseStored, type EventLog } from './event-log.ts';
import type { ConversationRow } from './conversations.ts';
import { damage } from './storage-error.ts';

const MAX_OPEN = 32;

/** Keeps logs open: the driver gives a closed one back only when memory is collected. */
export class EventLogs {
  readonly #eventsDir: string;
  readonly #open = new Map<string, { file: string; log: EventLog }>();

  constructor(eventsDir: string) {
    this.#eventsDir = eventsDir;
  }

  /** Null: the conversation has no log. Throws for a damaged one. */
  read<Result>(
    { id, sandbox_id }: Pick<ConversationRow, 'id' | 'sandbox_id'>,
    work: (log: EventLog) => Result,
  ): Result | null {
    if (sandbox_id === null) return null;
    const file = eventLogFile(path.join(this.#eventsDir, sandbox_id), id);
    if (this.#open.get(id)?.file !== file) this.forget(id);
    try {
      const log = this.#open.get(id)?.log ?? openEventLogReadOnly(file);
      if (log === null) return null;
      this.#open.delete(id);
      this.#open.set(id, { file, log });
      const [oldest = id] = this.#open.keys();
      if (this.#open.size > MAX_OPEN) this.forget(oldest);
      return work(log);
    } catch (error) {
      throw damage(`${(error as Error).message} (${file})`);
    }
  }

  forget(conversationId: string): void {
    this.#open.get(conversationId)?.log.close();
    this.#open.delete(conversationId);
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.forget(id);
  }
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

/** Leaves out unreadable logs. All share a connection, because its files stay open for long. */
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
