import type { SandboxSpecName } from '../base/worker-protocol.ts';
import type { Sql } from './database.ts';
import { createTable, type Table } from './table.ts';

/** A sandbox as it is stored. Times RFC 3339 with `Z`. */
export interface SandboxRow {
  id: string;
  spec_id: string;
  /**
   * The spec that it runs with, in every worker; another one than `spec_id` only in rows of earlier
   * versions.
   */
  isolation: SandboxSpecName;
  /**
   * Whether it runs without isolation because bubblewrap did not work, and not because `process`
   * was named.
   */
  fell_back: boolean;
  /** As in interface section 5.2, where MISSING is one that is not in the store. */
  status: 'STARTING' | 'RUNNING' | 'PAUSED' | 'ERROR';
  status_detail: string | null;
  session_api_key: string;
  /** Port of its agent server, the last one it had when it does not run. */
  port: number | null;
  working_dir: string | null;
  /** The process of its last worker, to end it after a crash of the service. */
  worker_pid: number | null;
  worker_start: string | null;
  created_at: string;
  last_active_at: string;
}

export interface SandboxStore extends Pick<Table<SandboxRow>, 'insert' | 'get' | 'remove'> {
  update(
    id: string,
    change: Partial<Omit<SandboxRow, 'id' | 'created_at' | 'isolation' | 'fell_back'>>,
  ): void;
  /** As in Table. */
  page(limit: number, from: string): SandboxRow[];
  all(): SandboxRow[];
}

export function createSandboxStore(sql: Sql): SandboxStore {
  const table = createTable<SandboxRow>(sql, 'sandboxes', { flags: ['fell_back'] });
  return {
    ...table,
    page: (limit, from) => table.page({}, limit, from),
    all: () => table.select('ORDER BY created_at'),
  };
}
