/** A store on disk for each test of a file, and rows for it. */
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

export function conversationRow(
  given: Pick<ConversationRow, 'id' | 'created_at'> & Partial<ConversationRow>,
): ConversationRow {
  return {
    dialect: 'V1',
    start_state: 'ready',
    start_detail: null,
    sandbox_id: null,
    title: null,
    execution_status: 'finished',
    parent_id: null,
    public: null,
    repository: null,
    branch: null,
    git_provider: null,
    trigger: 'gui',
    pr_number: [],
    llm_model: null,
    metrics: null,
    working_dir: null,
    base_commit: null,
    extras: {},
    updated_at: given.created_at,
    ...given,
  };
}

/** Makes a database one of version 5. */
export const TO_VERSION_5 = `
  ALTER TABLE sandboxes DROP COLUMN mounts;
  DROP INDEX conversations_by_dialect; DROP INDEX conversations_of_unknown; DROP INDEX start_tasks_unfinished;
  DROP TRIGGER conversation_inserted; DROP TRIGGER conversation_deleted; DROP TABLE conversation_counts;`;

export interface StoreOfTest {
  readonly folder: string;
  /** The file of the database. */
  readonly file: string;
  readonly store: Store;
  /** Opens the file again. The store must be closed. */
  open(): Store;
}

export function storeOfEachTest(): StoreOfTest {
  const folder = folderOfEachTest();
  const current: { store: Store | null } = { store: null };
  const file = () => path.join(folder.path, 'service.db');
  const open = () => (current.store = openStore(file()));
  beforeEach(() => {
    open();
  });
  afterEach(() => current.store?.close());
  return {
    get folder() {
      return folder.path;
    },
    get file() {
      return file();
    },
    get store() {
      return current.store ?? open();
    },
    open,
  };
}

/** A conversation whose members follow from a number, which is its age in seconds, newest last. */
export function numberedConversation(number: number): ConversationRow {
  const stamp = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString().replace('Z', '000Z');
  return conversationRow({
    id: `f${number.toString(16).padStart(31, '0')}`,
    dialect: number % 2 === 0 ? 'V0' : 'V1',
    title: `Conversation ${number}`,
    parent_id: number % 10 === 9 ? `f${(number - 1).toString(16).padStart(31, '0')}` : null,
    repository: number % 2 === 0 ? 'a/b' : null,
    pr_number: [number],
    extras: { number },
    created_at: stamp,
  });
}
