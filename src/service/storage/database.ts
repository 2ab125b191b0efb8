import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import Database from 'libsql';

export type SqlValue = string | number | null;

export interface Sql {
  run(sql: string, ...values: SqlValue[]): number;
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined;
  all<Row>(sql: string, ...values: SqlValue[]): Row[];
  transaction<Result>(work: () => Result): Result;
  /** Empties the write-ahead log, which still contains deleted values. */
  checkpoint(): void;
  close(): void;
}

/** SQLite counts by reading each row: the numbers of conversations are kept. */
const COUNTS = `
  DROP INDEX conversations_by_sandbox;
  CREATE INDEX conversations_by_sandbox ON conversations (sandbox_id, created_at);
  CREATE INDEX conversations_by_dialect ON conversations (dialect, created_at, parent_id);
  CREATE INDEX conversations_of_unknown ON conversations (sandbox_id)
    WHERE execution_status IS NULL AND start_state = 'ready';
  CREATE INDEX start_tasks_unfinished ON start_tasks (created_at)
    WHERE status NOT IN ('READY', 'ERROR');
  CREATE TABLE conversation_counts (
    dialect TEXT NOT NULL, is_child INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (dialect, is_child));
  INSERT INTO conversation_counts SELECT dialect, parent_id IS NOT NULL, count(*)
    FROM conversations GROUP BY 1, 2;
  CREATE TRIGGER conversation_inserted AFTER INSERT ON conversations BEGIN
    INSERT OR IGNORE INTO conversation_counts VALUES (new.dialect, new.parent_id IS NOT NULL, 0);
    UPDATE conversation_counts SET n = n + 1
      WHERE dialect = new.dialect AND is_child = (new.parent_id IS NOT NULL);
  END;
  CREATE TRIGGER conversation_deleted AFTER DELETE ON conversations BEGIN
    UPDATE conversation_counts SET n = n - 1
      WHERE dialect = old.dialect AND is_child = (old.parent_id IS NOT NULL);
  END;`;

const SCHEMA = `
  CREATE TABLE documents (name TEXT PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE secrets (
    name TEXT PRIMARY KEY, value TEXT NOT NULL, description TEXT NOT NULL);
  CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY, spec_id TEXT NOT NULL, isolation TEXT NOT NULL, fell_back INTEGER NOT NULL,
    mounts TEXT NOT NULL DEFAULT '[]',
    status TEXT NOT NULL, status_detail TEXT,
    session_api_key TEXT NOT NULL, port INTEGER, working_dir TEXT, worker_pid INTEGER,
    worker_start TEXT,
    created_at TEXT NOT NULL, last_active_at TEXT NOT NULL);
  CREATE INDEX sandboxes_by_time ON sandboxes (created_at);
  CREATE TABLE conversations (
    id TEXT PRIMARY KEY, dialect TEXT NOT NULL, start_state TEXT NOT NULL, start_detail TEXT,
    sandbox_id TEXT,
    title TEXT, execution_status TEXT, parent_id TEXT, public INTEGER, repository TEXT,
    branch TEXT, git_provider TEXT,
    trigger TEXT, pr_number TEXT NOT NULL, llm_model TEXT, metrics TEXT, working_dir TEXT,
    base_commit TEXT,
    extras TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
  CREATE INDEX conversations_by_time ON conversations (created_at);
  CREATE INDEX conversations_by_sandbox ON conversations (sandbox_id);
  CREATE INDEX conversations_by_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX conversations_running ON conversations (execution_status)
    WHERE execution_status = 'running';
  CREATE TABLE start_tasks (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, detail TEXT, app_conversation_id TEXT,
    conversation_id TEXT NOT NULL,
    sandbox_id TEXT, agent_server_url TEXT, request TEXT NOT NULL, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    dialect TEXT NOT NULL);
  CREATE INDEX start_tasks_by_time ON start_tasks (created_at);
  CREATE INDEX start_tasks_by_update ON start_tasks (updated_at);
  CREATE INDEX start_tasks_by_conversation ON start_tasks (conversation_id);
  ${COUNTS}`;

/** Each leads from one version of the tables to the next, and stays as it is. */
const STEPS = [
  `ALTER TABLE start_tasks ADD COLUMN dialect TEXT NOT NULL DEFAULT 'V1';
    UPDATE start_tasks SET dialect = 'V0'
      WHERE conversation_id IN (SELECT id FROM conversations WHERE dialect = 'V0');`,
  // Version 2 fell back to `process`, with the workspace on the host, and could keep an old status.
  `ALTER TABLE sandboxes ADD COLUMN isolation TEXT NOT NULL DEFAULT 'process';
    UPDATE sandboxes SET isolation = spec_id
      WHERE working_dir IS NULL OR working_dir = '/workspace/project';
    UPDATE conversations SET execution_status = NULL;`,
  // `pending_messages` of version 3 stays: it alone has what users queued for a start that failed.
  '',
  // Whether `process` was named is not known: no agent with a model is started in such a sandbox.
  `ALTER TABLE sandboxes ADD COLUMN fell_back INTEGER NOT NULL DEFAULT 0;
    UPDATE sandboxes SET fell_back = 1 WHERE isolation = 'process';`,
  COUNTS,
  "ALTER TABLE sandboxes ADD COLUMN mounts TEXT NOT NULL DEFAULT '[]';",
];

/** A file has the version of its writer in `user_version`. */
const SCHEMA_VERSION = STEPS.length + 1;

/** Creates a database file unless it exists; only its owner can read it and its WAL. */
export function makePrivateDatabase(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    if (existsSync(each)) chmodSync(each, 0o600);
  }
}

/** `onNew` runs before tables are created. Throws for an unwritable, damaged or newer file. */
export function openDatabase(file: string, onNew = (): void => undefined): Sql {
  // Before it is opened: SQLite deletes the write-ahead log of a file without a byte.
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) onNew();
  makePrivateDatabase(file);
  const database = new Database(file);
  try {
    database.exec('PRAGMA busy_timeout = 5000;');
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    if (version > SCHEMA_VERSION) throw new Error(`it was written by a newer version (${version})`);
    if (version === 0) onNew();
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;',
    );
    const change = version === 0 ? SCHEMA : STEPS.slice(version - 1).join('');
    if (version < SCHEMA_VERSION)
      database.exec(`BEGIN IMMEDIATE; ${change} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
  } catch (error) {
    database.close();
    throw error;
  }
  const statements = new Map<string, Database.Statement>();
  const prepared = (sql: string) => preparedOnce(database, statements, sql);
  const checkpoint = (): void => {
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // A full disk: the next checkpoint does it.
    }
  };
  return {
    run: (sql, ...values) => prepared(sql).run(...values).changes,
    get<Row>(sql: string, ...values: SqlValue[]) {
      const row = prepared(sql).get(...values) as (Row & { _metadata?: unknown }) | undefined;
      if (row !== undefined) delete row._metadata; // the driver's own, on single rows only
      return row;
    },
    all: <Row>(sql: string, ...values: SqlValue[]) => prepared(sql).all(...values) as Row[],
    transaction: (work) => transaction(database, work),
    checkpoint,
    close() {
      checkpoint(); // the driver may keep the write-ahead log open for a while
      statements.clear();
      database.close();
    },
  };
}

export function preparedOnce(
  database: Database.Database,
  statements: Map<string, Database.Statement>,
  sql: string,
): Database.Statement {
  const statement = statements.get(sql) ?? database.prepare(sql);
  statements.set(sql, statement);
  return statement;
}

/** Changes nothing: a service may have the file open. */
export function readStoredDocument(file: string, name: string): unknown {
  const database = new Database(file, { readonly: true });
  try {
    const row = database.prepare('SELECT body FROM documents WHERE name = ?').get(name) as
      { body: string } | undefined;
    return row === undefined ? null : (JSON.parse(row.body) as unknown);
  } finally {
    database.close();
  }
}

/** A full disk rolls back by itself, which a handler inside `work` may have ignored. */
export function transaction<Result>(database: Database.Database, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    if (!database.inTransaction) throw new Error('database or disk is full');
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
