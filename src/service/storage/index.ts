/** One SQLite file with one writing service (base/lock.ts). A call that returns has written. */
import { ConversationStore } from './conversations.ts';
import { openDatabase, type Sql } from './database.ts';
import { DocumentStore } from './documents.ts';
import { SandboxStore } from './sandboxes.ts';
import { SecretStore } from './secrets.ts';
import { StartTaskStore } from './start-tasks.ts';

export type Store = ReturnType<typeof openStore>;

/** Creates the store unless it exists, after `onNew`. Throws the error of the database. */
export function openStore(file: string, onNew?: () => void) {
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
    documents: new DocumentStore(sql),
    secrets: new SecretStore(sql),
    sandboxes: new SandboxStore(sql),
    conversations: new ConversationStore(sql),
    startTasks: new StartTaskStore(sql),
    /** Called after each write; within a transaction before its end. */
    onWrite(listener: () => void): void {
      written = listener;
    },
    transaction: database.transaction,
    close: database.close,
  };
}
