/**
 * The event log of one conversation: an SQLite file in which every event and the state of the conversation are written
 * before they are reported. The worker is its only writer; the app server reads the same file, so its answers are
 * current, also after the end of the worker.
 *
 * Kept as SQLite with a write-ahead log: a kill at any moment loses nothing that `append` returned for, and a reader
 * never waits for the writer.
 */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import type { ConversationState, StoredEvent } from './conversation-state.ts';
import { makePrivateDatabase } from '../private-file.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';

/**
 * Which events. Times as in StoredEvent; `gte` inclusive, `lt` exclusive; `body` is looked for in the event's texts.
 */
export interface EventFilter {
  kind?: string;
  /** Events of this kind are left out. */
  exceptKind?: string;
  source?: string;
  body?: string;
  gte?: string;
  lt?: string;
}

/**
 * Where a page starts: at an event (an unknown one means the beginning) or after so many events; neither: the start.
 */
export interface EventPageRequest extends EventFilter {
  fromId?: string;
  offset?: number;
  limit: number;
  order: 'asc' | 'desc';
}

/** `next`: the first event of the following page, by id and by its offset within the filter; null: no more. */
export interface EventPage {
  items: StoredEvent[];
  next: { id: string; offset: number } | null;
}

export interface EventLog {
  /** Writes one event. After the return a kill of this process cannot lose it. */
  append(event: StoredEvent): void;
  /** Writes events and state in one transaction. */
  appendWithState(events: StoredEvent[], state: ConversationState): void;
  count(filter?: EventFilter): number;
  search(page: EventPageRequest): EventPage;
  /** The events after a place in the log (0: from the beginning), as JSON texts ready to be sent. */
  readAfter(sequence: number, limit: number): { sequence: number; json: string }[];
  /** The place of the newest event; 0 in an empty log. */
  lastSequence(): number;
  /** The place before the first event of that time or later. */
  sequenceBefore(timestamp: string): number;
  /** In the order of the ids; null where there is no such event. */
  get(ids: string[]): (StoredEvent | null)[];
  /** Null in a log that holds no conversation yet. */
  readState(): ConversationState | null;
  writeState(state: ConversationState): void;
  /** The steps that play the agent; null: this conversation has none. Written once: they may be many. */
  readReplay(): ReplayStep[] | null;
  writeReplay(steps: ReplayStep[]): void;
  /** Secrets of this conversation only, by environment name. Never part of the state. */
  readSecrets(): Record<string, string>;
  writeSecrets(secrets: Record<string, string>): void;
  close(): void;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, timestamp TEXT NOT NULL,
    kind TEXT NOT NULL, source TEXT NOT NULL, body TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS events_by_time ON events (timestamp);
  CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, body TEXT NOT NULL);`;

/** The file of a conversation's log; the id is 32 hexadecimal digits. */
export function eventLogFile(eventsDir: string, conversationId: string): string {
  return path.join(eventsDir, `${conversationId}.db`);
}

/** Removes a log with what SQLite keeps beside it. The log must be closed. */
export function deleteEventLog(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

/** Opens a log to read; null when there is none. */
export function openEventLogReadOnly(file: string): EventLog | null {
  if (!existsSync(file)) return null;
  const database = new Database(file);
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;');
  const hasSchema = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'documents'").get();
  if (hasSchema === undefined) {
    database.close();
    return null;
  }
  return new SqliteEventLog(database);
}

/** Opens a log to read and write; creates it, readable by its owner alone. Throws when the disk refuses. */
export function openEventLog(file: string): EventLog {
  makePrivateDatabase(file);
  const database = new Database(file);
  // Readers hold no lock that stops the writer; the wait is for the moment in which one of them recovers the log.
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
  database.exec(SCHEMA);
  return new SqliteEventLog(database);
}

class SqliteEventLog implements EventLog {
  readonly #database: Database.Database;
  readonly #insert: Database.Statement;
  readonly #byId: Database.Statement;
  readonly #after: Database.Statement;
  readonly #readDocument: Database.Statement;
  readonly #writeDocument: Database.Statement;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#insert = database.prepare('INSERT INTO events (id, timestamp, kind, source, body) VALUES (?, ?, ?, ?, ?)');
    this.#byId = database.prepare('SELECT sequence, body FROM events WHERE id = ?');
    this.#after = database.prepare(
      'SELECT sequence, body AS json FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?',
    );
    this.#readDocument = database.prepare('SELECT body FROM documents WHERE name = ?');
    this.#writeDocument = database.prepare('INSERT OR REPLACE INTO documents (name, body) VALUES (?, ?)');
  }

  append(event: StoredEvent): void {
    this.#insert.run(event.id, event.timestamp, event.kind, event.source, JSON.stringify(event));
  }

  appendWithState(events: StoredEvent[], state: ConversationState): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const event of events) this.append(event);
      this.writeState(state);
      this.#database.exec('COMMIT');
    } catch (error) {
      // A full disk has rolled it back already.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  count(filter: EventFilter = {}): number {
    const { clause, values } = where(filter);
    const row = this.#database.prepare(`SELECT count(*) AS n FROM events ${clause}`).get(...values) as { n: number };
    return row.n;
  }

  search(page: EventPageRequest): EventPage {
    const { clause, values } = where(page);
    const offset = page.fromId === undefined ? (page.offset ?? 0) : this.#offsetOf(page.fromId, page);
    const rows = this.#database
      .prepare(`SELECT body FROM events ${clause} ORDER BY sequence ${page.order} LIMIT ? OFFSET ?`)
      .all(...values, page.limit + 1, offset) as { body: string }[];
    const events = rows.map((row) => JSON.parse(row.body) as StoredEvent);
    const following = events[page.limit];
    return {
      items: events.slice(0, page.limit),
      next: following === undefined ? null : { id: following.id, offset: offset + page.limit },
    };
  }

  readAfter(sequence: number, limit: number): { sequence: number; json: string }[] {
    return this.#after.all(sequence, limit) as { sequence: number; json: string }[];
  }

  lastSequence(): number {
    const row = this.#database.prepare('SELECT max(sequence) AS last FROM events').get() as { last: number | null };
    return row.last ?? 0;
  }

  sequenceBefore(timestamp: string): number {
    const row = this.#database.prepare('SELECT min(sequence) AS first FROM events WHERE timestamp >= ?').get(timestamp);
    const { first } = row as { first: number | null };
    return first === null ? this.lastSequence() : first - 1;
  }

  get(ids: string[]): (StoredEvent | null)[] {
    return ids.map((id) => {
      const row = this.#byId.get(id) as { body: string } | undefined;
      return row === undefined ? null : (JSON.parse(row.body) as StoredEvent);
    });
  }

  readState(): ConversationState | null {
    return this.#read('state') as ConversationState | null;
  }

  writeState(state: ConversationState): void {
    this.#writeDocument.run('state', JSON.stringify(state));
  }

  readReplay(): ReplayStep[] | null {
    return this.#read('replay') as ReplayStep[] | null;
  }

  writeReplay(steps: ReplayStep[]): void {
    this.#writeDocument.run('replay', JSON.stringify(steps));
  }

  readSecrets(): Record<string, string> {
    return (this.#read('secrets') ?? {}) as Record<string, string>;
  }

  writeSecrets(secrets: Record<string, string>): void {
    this.#writeDocument.run('secrets', JSON.stringify(secrets));
  }

  close(): void {
    this.#database.close();
  }

  #read(name: string): unknown {
    const row = this.#readDocument.get(name) as { body: string } | undefined;
    return row === undefined ? null : JSON.parse(row.body);
  }

  /**
   * How many events of the filter come before this one; 0 for an unknown id, as genuine servers start at the beginning.
   */
  #offsetOf(id: string, page: EventPageRequest): number {
    const row = this.#byId.get(id) as { sequence: number } | undefined;
    if (row === undefined) return 0;
    const { clause, values } = where(page, [`sequence ${page.order === 'asc' ? '<' : '>'} ?`], [row.sequence]);
    const counted = this.#database.prepare(`SELECT count(*) AS n FROM events ${clause}`).get(...values) as {
      n: number;
    };
    return counted.n;
  }
}

function where(filter: EventFilter, conditions: string[] = [], given: (string | number)[] = []) {
  const all = [...conditions];
  const values: (string | number)[] = [...given];
  const add = (condition: string, value: string | undefined): void => {
    if (value === undefined) return;
    all.push(condition);
    values.push(value);
  };
  add('kind = ?', filter.kind);
  add('kind <> ?', filter.exceptKind);
  add('source = ?', filter.source);
  add('instr(lower(body), lower(?)) > 0', filter.body);
  add('timestamp >= ?', filter.gte);
  add('timestamp < ?', filter.lt);
  return { clause: all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`, values };
}
