/**
 * One SQLite file with one writing service (lifecycle/lock.ts). A call that returns has written.
 */
import { createConversationStore, type ConversationStore } from './conversations.ts';
import { openDatabase, type Sql } from './database.ts';
import { createDocumentStore, type DocumentStore } from './documents.ts';
import { createSandboxStore, type SandboxStore } from './sandboxes.ts';
import { createStartTaskStore, type StartTaskStore } from './start-tasks.ts';

export interface Store {
  documents: DocumentStore;
  secrets: SecretStore;
  sandboxes: SandboxStore;
  conversations: ConversationStore;
  startTasks: StartTaskStore;
  /** Called after each write; within a transaction before its end. */
  onWrite(listener: () => void): void;
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

/**
 * Opens the store of a data directory; creates it when there is none, after `onNew`. Throws the
 * error of the database.
 */
export function openStore(file: string, onNew?: () => void): Store {
  const database = openDatabase(file, onNew);
  let written = (): void => undefined;
  const sql: Sql = {
    ...database,
    run(...statement) {
      const changes = database.run(...statement);
      written();
      return changes;
    },
  };
  return {
    documents: createDocumentStore(sql),
    secrets: createSecretStore(sql),
    sandboxes: createSandboxStore(sql),
    conversations: createConversationStore(sql),
    startTasks: createStartTaskStore(sql),
    onWrite(listener) {
      written = listener;
    },
    transaction: (work) => sql.transaction(work),
    close: () => {
      sql.close();
    },
  };
}

interface SecretName {
  name: string;
  description: string;
}

/**
 * The user's own secrets, by environment name. A value that was replaced or removed is in no file
 * of the database.
 */
interface SecretStore {
  list(): SecretName[];
  values(): Record<string, string>;
  get(name: string): SecretName | null;
  /** Keeps the description of one that exists. True when it is new. */
  put(name: string, value: string, description: string): boolean;
  rename(name: string, newName: string, description: string): void;
  remove(name: string): boolean;
}

function createSecretStore(sql: Sql): SecretStore {
  const get = (name: string): SecretName | null =>
    sql.get<SecretName>('SELECT name, description FROM secrets WHERE name = ?', name) ?? null;
  return {
    list: () => sql.all<SecretName>('SELECT name, description FROM secrets ORDER BY name'),
    values() {
      const rows = sql.all<{ name: string; value: string }>('SELECT name, value FROM secrets');
      return Object.fromEntries(rows.map((row) => [row.name, row.value]));
    },
    get,
    put(name, value, description) {
      const isNew = get(name) === null;
      if (isNew)
        sql.run(
          'INSERT INTO secrets (name, value, description) VALUES (?, ?, ?)',
          name,
          value,
          description,
        );
      else {
        sql.run('UPDATE secrets SET value = ? WHERE name = ?', value, name);
        sql.checkpoint();
      }
      return isNew;
    },
    rename(name, newName, description) {
      sql.run(
        'UPDATE secrets SET name = ?, description = ? WHERE name = ?',
        newName,
        description,
        name,
      );
    },
    remove(name) {
      const isRemoved = sql.run('DELETE FROM secrets WHERE name = ?', name) > 0;
      sql.checkpoint();
      return isRemoved;
    },
  };
}
