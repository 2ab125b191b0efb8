import type { SandboxSpecName } from '../sandboxes/worker-protocol.ts';
import type { Sql } from './database.ts';

/** States of a sandbox as interface section 5.2 names them; MISSING is one that is not in the store. */
export type SandboxStatus = 'STARTING' | 'RUNNING' | 'PAUSED' | 'ERROR';

/** A sandbox as it is stored. Times RFC 3339 with `Z`. */
export interface SandboxRow {
  /** 22 letters of base62. */
  id: string;
  /** The requested spec. */
  spec_id: string;
  /** The spec that it runs with, in every worker; another one than `spec_id` only in rows of earlier versions. */
  isolation: SandboxSpecName;
  status: SandboxStatus;
  /** A sentence for the user; null: none. */
  status_detail: string | null;
  session_api_key: string;
  /** Port of its agent server, the last one it had when it does not run. */
  port: number | null;
  /** Where commands see the workspace. */
  working_dir: string | null;
  /** The worker's process, to end it after a crash of the service. */
  worker_pid: number | null;
  worker_start: string | null;
  created_at: string;
  last_active_at: string;
}

export type SandboxChange = Partial<Omit<SandboxRow, 'id' | 'created_at' | 'isolation'>>;

export interface SandboxStore {
  insert(row: SandboxRow): void;
  get(id: string): SandboxRow | null;
  update(id: string, change: SandboxChange): void;
  /**
   * Like `update`, for a fact: effective also when the disk refuses it, and then written by a later call that finds
   * space. Returns the refusal; null: it is written.
   */
  updateOrKeep(id: string, change: SandboxChange): Error | null;
  /** Writes what `updateOrKeep` could not. Throws when it still cannot. */
  settle(): void;
  /** Newest first. */
  page(limit: number, offset: number): SandboxRow[];
  all(): SandboxRow[];
  remove(id: string): boolean;
}

const COLUMNS =
  'id, spec_id, isolation, status, status_detail, session_api_key, port, working_dir, worker_pid, worker_start, created_at, last_active_at';
const CHANGEABLE = [
  'spec_id',
  'status',
  'status_detail',
  'session_api_key',
  'port',
  'working_dir',
  'worker_pid',
  'worker_start',
  'last_active_at',
] as const;

export function createSandboxStore(sql: Sql): SandboxStore {
  const unwritten = new Map<string, SandboxChange>();
  const withUnwritten = (row: SandboxRow): SandboxRow => ({ ...row, ...unwritten.get(row.id) });
  const update = (id: string, change: SandboxChange): void => {
    const whole = { ...unwritten.get(id), ...change };
    const names = CHANGEABLE.filter((name) => whole[name] !== undefined);
    if (names.length > 0) {
      const sets = names.map((name) => `${name} = ?`).join(', ');
      sql.run(`UPDATE sandboxes SET ${sets} WHERE id = ?`, ...names.map((name) => whole[name] ?? null), id);
    }
    unwritten.delete(id);
  };
  return {
    insert(row) {
      sql.run(
        `INSERT INTO sandboxes (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.id,
        row.spec_id,
        row.isolation,
        row.status,
        row.status_detail,
        row.session_api_key,
        row.port,
        row.working_dir,
        row.worker_pid,
        row.worker_start,
        row.created_at,
        row.last_active_at,
      );
    },
    get(id) {
      const row = sql.get<SandboxRow>(`SELECT ${COLUMNS} FROM sandboxes WHERE id = ?`, id);
      return row === undefined ? null : withUnwritten(row);
    },
    update,
    updateOrKeep(id, change) {
      try {
        update(id, change);
        return null;
      } catch (error) {
        unwritten.set(id, { ...unwritten.get(id), ...change });
        return error as Error;
      }
    },
    settle() {
      for (const [id, change] of [...unwritten]) update(id, change);
    },
    page: (limit, offset) =>
      sql
        .all<SandboxRow>(
          `SELECT ${COLUMNS} FROM sandboxes ORDER BY created_at DESC, id LIMIT ? OFFSET ?`,
          limit,
          offset,
        )
        .map(withUnwritten),
    all: () => sql.all<SandboxRow>(`SELECT ${COLUMNS} FROM sandboxes ORDER BY created_at`).map(withUnwritten),
    remove(id) {
      const isRemoved = sql.run('DELETE FROM sandboxes WHERE id = ?', id) > 0;
      unwritten.delete(id);
      return isRemoved;
    },
  };
}
