import type { Mount, SandboxSpecName } from '../base/worker-protocol.ts';
import type { Sql } from './database.ts';
import { Table } from './table.ts';

/** A sandbox as it is stored. Times RFC 3339 with `Z`. */
export interface SandboxRow {
  id: string;
  spec_id: string;
  /** The spec of every worker; differs from `spec_id` only in rows of earlier versions. */
  isolation: SandboxSpecName;
  /** True: it has no isolation because bubblewrap did not work; `process` was not named. */
  fell_back: boolean;
  /** A relative source is in the data directory. */
  mounts: Mount[];
  /** See interface section 5.2; MISSING is a sandbox that is not in the store. */
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

/** The URL of its agent server; null: it does not run. */
export function agentUrl(sandbox: SandboxRow | null): string | null {
  const isUp = sandbox?.status === 'RUNNING' && sandbox.port !== null;
  return isUp ? `http://127.0.0.1:${sandbox.port}` : null;
}

export class SandboxStore extends Table<SandboxRow> {
  constructor(sql: Sql) {
    super(sql, 'sandboxes', { json: ['mounts'], flags: ['fell_back'] });
  }

  page(limit: number, from: string): SandboxRow[] {
    return this.newest({}, limit, from);
  }

  all(): SandboxRow[] {
    return this.select('ORDER BY created_at');
  }
}
