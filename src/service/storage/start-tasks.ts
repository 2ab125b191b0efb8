import type { Sql, SqlValue } from './database.ts';

/** How far a start has come (interface section 4.2). */
export type StartTaskStatus =
  'WORKING' | 'WAITING_FOR_SANDBOX' | 'PREPARING_REPOSITORY' | 'STARTING_CONVERSATION' | 'READY' | 'ERROR';

/** A start task as it is stored. Times RFC 3339 with microseconds and `Z`. */
export interface StartTaskRow {
  id: string;
  /** The dialect of the request; V0 has no start tasks. */
  dialect: 'V0' | 'V1';
  status: StartTaskStatus;
  detail: string | null;
  /** Set once it is READY. */
  app_conversation_id: string | null;
  /** The id that the conversation will have. */
  conversation_id: string;
  sandbox_id: string | null;
  agent_server_url: string | null;
  /** The request as it is shown: secret values masked, a replay named by its digest. */
  request: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

export type StartTaskSort = 'CREATED_AT' | 'CREATED_AT_DESC' | 'UPDATED_AT' | 'UPDATED_AT_DESC';

export interface StartTaskFilter {
  dialect?: 'V0' | 'V1';
  conversationId?: string;
  createdGte?: string;
}

export interface StartTaskStore {
  insert(row: StartTaskRow): void;
  get(id: string): StartTaskRow | null;
  update(id: string, change: Partial<Omit<StartTaskRow, 'id' | 'dialect' | 'request' | 'created_at'>>): void;
  page(filter: StartTaskFilter, sort: StartTaskSort, limit: number, offset: number): StartTaskRow[];
  count(filter: StartTaskFilter): number;
  /** Those that a crash has interrupted: neither READY nor ERROR. */
  unfinished(): StartTaskRow[];
}

const COLUMNS =
  'id, status, detail, app_conversation_id, conversation_id, sandbox_id, agent_server_url, request, created_at, updated_at, dialect';
const CHANGEABLE = [
  'status',
  'detail',
  'app_conversation_id',
  'conversation_id',
  'sandbox_id',
  'agent_server_url',
  'updated_at',
] as const;
const ORDER: Record<StartTaskSort, string> = {
  CREATED_AT: 'created_at',
  CREATED_AT_DESC: 'created_at DESC',
  UPDATED_AT: 'updated_at',
  UPDATED_AT_DESC: 'updated_at DESC',
};

type Stored = Omit<StartTaskRow, 'request'> & { request: string };

export function createStartTaskStore(sql: Sql): StartTaskStore {
  const one = (stored: Stored): StartTaskRow => ({
    ...stored,
    request: JSON.parse(stored.request) as Record<string, unknown>,
  });
  return {
    insert(row) {
      sql.run(
        `INSERT INTO start_tasks (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.id,
        row.status,
        row.detail,
        row.app_conversation_id,
        row.conversation_id,
        row.sandbox_id,
        row.agent_server_url,
        JSON.stringify(row.request),
        row.created_at,
        row.updated_at,
        row.dialect,
      );
    },
    get(id) {
      const found = sql.get<Stored>(`SELECT ${COLUMNS} FROM start_tasks WHERE id = ?`, id);
      return found === undefined ? null : one(found);
    },
    update(id, change) {
      const names = CHANGEABLE.filter((name) => change[name] !== undefined);
      const sets = names.map((name) => `${name} = ?`).join(', ');
      sql.run(`UPDATE start_tasks SET ${sets} WHERE id = ?`, ...names.map((name) => change[name] ?? null), id);
    },
    page(filter, sort, limit, offset) {
      const { clause, values } = where(filter);
      const query = `SELECT ${COLUMNS} FROM start_tasks ${clause} ORDER BY ${ORDER[sort]} LIMIT ? OFFSET ?`;
      return sql.all<Stored>(query, ...values, limit, offset).map(one);
    },
    count(filter) {
      const { clause, values } = where(filter);
      return sql.get<{ n: number }>(`SELECT count(*) AS n FROM start_tasks ${clause}`, ...values)?.n ?? 0;
    },
    unfinished: () =>
      sql.all<Stored>(`SELECT ${COLUMNS} FROM start_tasks WHERE status NOT IN ('READY', 'ERROR')`).map(one),
  };
}

function where(filter: StartTaskFilter): { clause: string; values: SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (filter.dialect !== undefined) {
    conditions.push('dialect = ?');
    values.push(filter.dialect);
  }
  if (filter.conversationId !== undefined) {
    conditions.push('conversation_id = ?');
    values.push(filter.conversationId);
  }
  if (filter.createdGte !== undefined) {
    conditions.push('created_at >= ?');
    values.push(filter.createdGte);
  }
  return { clause: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
}
