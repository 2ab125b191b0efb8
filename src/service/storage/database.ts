import Database from 'libsql';
import { makePrivateDatabase } from '../private-file.ts';

/** What a column may hold. */
export type SqlValue = string | number | null;

/** The few calls of the embedded database that the store uses; every call returns when it is done. */
export interface Sql {
  run(sql: string, ...values: SqlValue[]): number;
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined;
  all<Row>(sql: string, ...values: SqlValue[]): Row[];
  /** Everything in `work` or nothing. */
  transaction<Result>(work: () => Result): Result;
  /** Writes all changes to the main file and empties the write-ahead log, which still contains deleted values. */
  checkpoint(): void;
  close(): void;
}

/** Grows by one with each change of the tables; `user_version` of the file has the version that wrote it. */
const SCHEMA_VERSION = 4;

const SCHEMA = `
  CREATE TABLE documents (name TEXT PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE secrets (
    name TEXT PRIMARY KEY, value TEXT NOT NULL, description TEXT NOT NULL);
  CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY, spec_id TEXT NOT NULL, isolation TEXT NOT NULL, status TEXT NOT NULL, status_detail TEXT,
    session_api_key TEXT NOT NULL, port INTEGER, working_dir TEXT, worker_pid INTEGER, worker_start TEXT,
    created_at TEXT NOT NULL, last_active_at TEXT NOT NULL);
  CREATE INDEX sandboxes_by_time ON sandboxes (created_at);
  CREATE TABLE conversations (
    id TEXT PRIMARY KEY, dialect TEXT NOT NULL, start_state TEXT NOT NULL, start_detail TEXT, sandbox_id TEXT,
    title TEXT, execution_status TEXT, parent_id TEXT, public INTEGER, repository TEXT, branch TEXT, git_provider TEXT,
    trigger TEXT, pr_number TEXT NOT NULL, llm_model TEXT, metrics TEXT, working_dir TEXT, base_commit TEXT,
    extras TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
  CREATE INDEX conversations_by_time ON conversations (created_at);
  CREATE INDEX conversations_by_sandbox ON conversations (sandbox_id);
  CREATE INDEX conversations_by_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX conversations_running ON conversations (execution_status) WHERE execution_status = 'running';
  CREATE TABLE start_tasks (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, detail TEXT, app_conversation_id TEXT, conversation_id TEXT NOT NULL,
    sandbox_id TEXT, agent_server_url TEXT, request TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    dialect TEXT NOT NULL);
  CREATE INDEX start_tasks_by_time ON start_tasks (created_at);
  CREATE INDEX start_tasks_by_update ON start_tasks (updated_at);
  CREATE INDEX start_tasks_by_conversation ON start_tasks (conversation_id);`;

/** The migrations from each version to the next one. */
const STEPS: Readonly<Record<number, string>> = {
  1: `ALTER TABLE start_tasks ADD COLUMN dialect TEXT NOT NULL DEFAULT 'V1';
    UPDATE start_tasks SET dialect = 'V0'
      WHERE conversation_id IN (SELECT id FROM conversations WHERE dialect = 'V0');`,
  // Version 2 fell back to `process` where bubblewrap did not start; the workspace then was at its place on the host.
  // It could keep the status of a run that had ended since: the service reads each from its log at its start.
  2: `ALTER TABLE sandboxes ADD COLUMN isolation TEXT NOT NULL DEFAULT 'process';
    UPDATE sandboxes SET isolation = spec_id WHERE working_dir IS NULL OR working_dir = '/workspace/project';
    UPDATE conversations SET execution_status = NULL;`,
  // Version 3 queued messages for conversations that had not started.
  3: 'DROP TABLE IF EXISTS pending_messages;',
};

/**
 * Opens the database of a data directory; creates its tables, or brings those of an older version up to date.
 * Every write is on the disk when the call returns (`synchronous = FULL`): acknowledged means written.
 * What is deleted is overwritten (`secure_delete`).
 * @throws Error when the file cannot be written, is damaged, or comes from a newer version
 */
export function openDatabase(file: string): Sql {
  makePrivateDatabase(file);
  const database = new Database(file);
  try {
    database.exec(
      'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;',
    );
    const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
    if (version > SCHEMA_VERSION) throw new Error(`it was written by a newer version (${version})`);
    const change = version === 0 ? SCHEMA : stepsFrom(version);
    if (version < SCHEMA_VERSION)
      database.exec(`BEGIN IMMEDIATE; ${change} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
  } catch (error) {
    database.close();
    throw error;
  }
  return wrap(database);
}

function stepsFrom(version: number): string {
  let all = '';
  for (let step = version; step < SCHEMA_VERSION; step++) all += STEPS[step] ?? '';
  return all;
}

function wrap(database: Database.Database): Sql {
  const statements = new Map<string, Database.Statement>();
  const prepared = (sql: string): Database.Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    run: (sql, ...values) => prepared(sql).run(...values).changes,
    get<Row>(sql: string, ...values: SqlValue[]) {
      const row = prepared(sql).get(...values) as (Row & { _metadata?: unknown }) | undefined;
      if (row !== undefined) delete row._metadata; // the driver's own, on single rows only
      return row;
    },
    all: <Row>(sql: string, ...values: SqlValue[]) => prepared(sql).all(...values) as Row[],
    transaction(work) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        // A handler inside ignored a full disk, which has rolled back the transaction.
        if (!database.inTransaction) throw new Error('database or disk is full');
        database.exec('COMMIT');
        return result;
      } catch (error) {
        // A full disk has rolled it back already.
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    checkpoint: () => {
      checkpoint(database);
    },
    close: () => {
      // The driver may keep the write-ahead log open for a while.
      checkpoint(database);
      statements.clear();
      database.close();
    },
  };
}

function checkpoint(database: Database.Database): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A full disk: the next checkpoint does it.
  }
}
