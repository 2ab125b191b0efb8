/**
 * The store of the local service: one SQLite file in the data directory. A call that returns has written.
 * Only one service writes it (lifecycle/lock.ts); the events of a conversation are in a file of their own (event-log.ts).
 */
import { createConversationStore, type ConversationStore } from './conversations.ts';
import { openDatabase, type Sql } from './database.ts';
import { createDocumentStore, type DocumentStore } from './documents.ts';
import { createSandboxStore, type SandboxStore } from './sandboxes.ts';
import { createSecretStore, type SecretStore } from './secrets.ts';
import { createStartTaskStore, type StartTaskStore } from './start-tasks.ts';

export interface Store {
  documents: DocumentStore;
  secrets: SecretStore;
  sandboxes: SandboxStore;
  conversations: ConversationStore;
  startTasks: StartTaskStore;
  /** Called after each write; within a transaction before its end. */
  onWrite(listener: () => void): void;
  /** Everything in `work` or nothing. */
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

/** Opens the store of a data directory; creates it when there is none. Throws the error of the database. */
export function openStore(file: string): Store {
  const database = openDatabase(file);
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
