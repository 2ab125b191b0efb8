/** An SQLite file, written before anything is reported; its only writer is the worker. */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import type { ConversationState, StoredEvent } from './conversation-state.ts';
import { makePrivateDatabase, preparedOnce, transaction } from './database.ts';
import { secretsOf, secretsOfHeaders } from '../base/mcp-servers.ts';
import type { ModelConfig } from '../base/model-config.ts';
import type { ReplayStep, ToolStep } from '../base/steps.ts';
import { Mask } from './masking.ts';
import { damage } from './storage-error.ts';
import { where } from './table.ts';
import { wellFormedJson } from '../../base/text/well-formed.ts';

/** Times as in StoredEvent; `gte` inclusive, `lt` exclusive; `body`: a part of the JSON. */
export interface EventFilter {
  kind?: string;
  exceptKind?: string;
  source?: string;
  body?: string;
  gte?: string;
  lt?: string;
}

/** A page starts at an event (an unknown one: the beginning), or behind a position in the log. */
export interface EventPageRequest extends EventFilter {
  fromId?: string;
  after?: number;
  limit: number;
  order: 'asc' | 'desc';
}

interface Documents {
  state: ConversationState;
  /** The steps of a replay. Written once: they may be many. */
  replay: ReplayStep[];
  model: ModelConfig;
  asked: ToolStep;
  secrets: Record<string, string>;
  /** Values that may have been replaced since: older events hold them. */
  former: readonly string[];
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, timestamp TEXT NOT NULL,
    kind TEXT NOT NULL, source TEXT NOT NULL, body TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS events_by_time ON events (timestamp);
  CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, body TEXT NOT NULL);`;

export function parseStored<Value>(json: string): Value {
  try {
    return JSON.parse(json) as Value;
  } catch {
    throw damage('the event log is malformed: it holds a text that is not JSON');
  }
}

export function eventLogFile(eventsDir: string, conversationId: string): string {
  return path.join(eventsDir, `${conversationId}.db`);
}

export function deleteEventLog(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

/** Its events are masked. */
export function openEventLogReadOnly(file: string): EventLog | null {
  if (!existsSync(file)) return null;
  const database = new Database(file);
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;');
  const hasSchema = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'documents'").get();
  if (hasSchema === undefined) {
    database.close();
    return null;
  }
  return new EventLog(database, 'masked');
}

/** Creates the log unless it exists, readable by its owner alone. Throws when the disk refuses. */
export function openEventLog(file: string): EventLog {
  makePrivateDatabase(file);
  const database = new Database(file);
  // No reader stops the writer, except while it recovers the log.
  database.exec(
    'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;',
  );
  database.exec(SCHEMA);
  return new EventLog(database);
}

interface EventRow {
  sequence: number;
  body: string;
}

export class EventLog {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  readonly #events: 'masked' | 'as written';
  #newest: { documents: string; mask: Mask } | null = null;

  constructor(database: Database.Database, events: 'masked' | 'as written' = 'as written') {
    this.#database = database;
    this.#events = events;
  }

  masked(): EventLog {
    return new EventLog(this.#database, 'masked');
  }

  /** Writes one event. After the return a kill of this process cannot lose it. */
  append(event: StoredEvent): void {
    const { id, timestamp, kind, source } = event;
    this.#prepared(
      'INSERT INTO events (id, timestamp, kind, source, body) VALUES (?, ?, ?, ?, ?)',
    ).run(id, timestamp, kind, source, wellFormedJson(JSON.stringify(event)));
  }

  appendWithState(events: StoredEvent[], state: ConversationState): void {
    transaction(this.#database, () => {
      for (const event of events) this.append(event);
      this.write('state', state);
    });
  }

  /** Copies the events of another log up to `sequence`, and its documents except the state. */
  copyFrom(file: string, sequence: number, state: ConversationState): void {
    this.#database.prepare('ATTACH ? AS source').run(file);
    transaction(this.#database, () => {
      this.#database
        .prepare('INSERT INTO events SELECT * FROM source.events WHERE sequence <= ?')
        .run(sequence);
      this.#database.exec('INSERT INTO documents SELECT * FROM source.documents');
      this.write('state', state);
    });
    this.#database.exec('DETACH source');
  }

  sequenceOf(id: string): number | null {
    return this.#eventRow(id)?.sequence ?? null;
  }

  /** No event is ever removed: the position of the newest is the number of all. */
  count(filter: EventFilter = {}): number {
    if (Object.keys(filter).length === 0) return this.lastSequence();
    const { clause, values } = where(this.#conditions(filter));
    const statement = this.#database.prepare(`SELECT count(*) AS n FROM events ${clause}`);
    return (statement.get(...values) as { n: number }).n;
  }

  /** `next`: the id of the first event of the following page, and the position before it. */
  search(page: EventPageRequest): {
    items: StoredEvent[];
    next: { id: string; after: number } | null;
  } {
    const { order, limit, fromId } = page;
    const from = fromId === undefined ? null : this.sequenceOf(fromId);
    const after = from === null ? page.after : from + (order === 'asc' ? -1 : 1);
    const position = { [`sequence ${order === 'asc' ? '>' : '<'} ?`]: after || undefined };
    const { clause, values } = where({ ...this.#conditions(page), ...position });
    const rows = this.#database
      .prepare(`SELECT sequence, body FROM events ${clause} ORDER BY sequence ${order} LIMIT ?`)
      .all(...values, limit + 1) as EventRow[];
    const shown = this.#shown();
    const events = rows.map((row) => parseStored<StoredEvent>(shown(row.body)));
    const [last, following] = [rows[limit - 1], events[limit]];
    return {
      items: events.slice(0, limit),
      next: following && last ? { id: following.id, after: last.sequence } : null,
    };
  }

  /** The events after a position in the log (0: from the beginning), as JSON. */
  readAfter(position: number, limit: number): { sequence: number; json: string }[] {
    const rows = this.#prepared(
      'SELECT sequence, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?',
    ).all(position, limit) as EventRow[];
    const shown = this.#shown();
    return rows.map(({ sequence, body }) => ({ sequence, json: shown(body) }));
  }

  lastSequence(): number {
    const row = this.#prepared('SELECT max(sequence) AS last FROM events').get();
    return (row as { last: number | null }).last ?? 0;
  }

  /** The position before the first event of that time or later. */
  sequenceBefore(timestamp: string): number {
    const first = this.#prepared(
      'SELECT sequence FROM events WHERE timestamp >= ? ORDER BY timestamp LIMIT 1',
    ).get(timestamp) as EventRow | undefined;
    return first === undefined ? this.lastSequence() : first.sequence - 1;
  }

  get(ids: string[]): (StoredEvent | null)[] {
    const shown = this.#shown();
    return ids.map((id) => {
      const row = this.#eventRow(id);
      return row === undefined ? null : parseStored<StoredEvent>(shown(row.body));
    });
  }

  read<Name extends keyof Documents>(name: Name): Documents[Name] | null {
    const row = this.#prepared('SELECT body FROM documents WHERE name = ?').get(name) as
      { body: string } | undefined;
    return row === undefined ? null : parseStored<Documents[Name]>(row.body);
  }

  write<Name extends keyof Documents>(name: Name, value: Documents[Name]): void {
    const insert = this.#prepared('INSERT OR REPLACE INTO documents (name, body) VALUES (?, ?)');
    insert.run(name, JSON.stringify(value));
  }

  /** The secrets of the conversation and of its model: endpoints repeat a key that they refuse. */
  mask(): Mask {
    const { llm, condenser, mcp_config = {} } = this.read('model') ?? {};
    const models = [llm, condenser?.llm];
    const values = [
      ...Object.values(this.read('secrets') ?? {}),
      ...models.map((each) => each?.api_key ?? ''),
      ...models.flatMap((each) => secretsOfHeaders(each?.extra_headers ?? {})),
      ...secretsOf(mcp_config),
      ...(this.read('former') ?? []),
    ];
    return new Mask([...new Set(values)]);
  }

  close(): void {
    this.#database.close();
  }

  #prepared(sql: string): Database.Statement {
    return preparedOnce(this.#database, this.#statements, sql);
  }

  #eventRow(id: string): EventRow | undefined {
    const statement = this.#prepared('SELECT sequence, body FROM events WHERE id = ?');
    return statement.get(id) as EventRow | undefined;
  }

  /** Documents are read anew for each page: a conversation may get further secrets. */
  #shown(): (json: string) => string {
    if (this.#events === 'as written') return (json) => json;
    const statement = this.#prepared(
      "SELECT body FROM documents WHERE name IN ('secrets', 'model', 'former')",
    );
    const documents = JSON.stringify(statement.all());
    if (this.#newest?.documents !== documents) this.#newest = { documents, mask: this.mask() };
    const { mask } = this.#newest;
    return (json) => mask.json(json);
  }

  /** Times as positions, which increase with them: reading a range of positions is fast. */
  #conditions(filter: EventFilter) {
    const { kind, exceptKind, source, body, gte, lt } = filter;
    return {
      'kind = ?': kind,
      'kind <> ?': exceptKind,
      'source = ?': source,
      'instr(lower(body), lower(?)) > 0': body,
      '? < sequence': gte === undefined ? undefined : this.sequenceBefore(gte),
      '? >= sequence': lt === undefined ? undefined : this.sequenceBefore(lt),
    };
  }
}
