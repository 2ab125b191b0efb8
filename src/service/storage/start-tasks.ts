import type { Sql } from './database.ts';
import { createTable, where, type Table } from './table.ts';

/** A start task as it is stored. Times RFC 3339 with microseconds and `Z`. */
export interface StartTaskRow {
  id: string;
  /** The dialect of the request; V0 has no start tasks. */
  dialect: 'V0' | 'V1';
  /** As in interface section 4.2. */
  status:
    | 'WORKING'
    | 'WAITING_FOR_SANDBOX'
    | 'PREPARING_REPOSITORY'
    | 'STARTING_CONVERSATION'
    | 'READY'
    | 'ERROR';
  detail: string | null;
  app_conversation_id: string | null;
  conversation_id: string;
  sandbox_id: string | null;
  agent_server_url: string | null;
  /** The request as it is shown: secret values masked, a replay named by its digest. */
  request: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

export interface StartTaskFilter {
  dialect?: 'V0' | 'V1';
  conversationId?: string;
  createdGte?: string;
}

const ORDER = {
  CREATED_AT: 'created_at',
  CREATED_AT_DESC: 'created_at DESC',
  UPDATED_AT: 'updated_at',
  UPDATED_AT_DESC: 'updated_at DESC',
} as const;

export interface StartTaskStore extends Pick<Table<StartTaskRow>, 'insert' | 'get'> {
  update(
    id: string,
    change: Partial<Omit<StartTaskRow, 'id' | 'dialect' | 'request' | 'created_at'>>,
  ): void;
  page(
    filter: StartTaskFilter,
    sort: keyof typeof ORDER,
    limit: number,
    offset: number,
  ): StartTaskRow[];
  count(filter: StartTaskFilter): number;
  unfinished(): StartTaskRow[];
}

export function createStartTaskStore(sql: Sql): StartTaskStore {
  const table = createTable<StartTaskRow>(sql, 'start_tasks', { json: ['request'] });
  const matching = ({ dialect, conversationId, createdGte }: StartTaskFilter) =>
    where({
      'dialect = ?': dialect,
      'conversation_id = ?': conversationId,
      'created_at >= ?': createdGte,
    });
  return {
    ...table,
    page(filter, sort, limit, offset) {
      const { clause, values } = matching(filter);
      return table.select(
        `${clause} ORDER BY ${ORDER[sort]} LIMIT ? OFFSET ?`,
        ...values,
        limit,
        offset,
      );
    },
    count(filter) {
      const { clause, values } = matching(filter);
      return table.count(clause, ...values);
    },
    unfinished: () => table.select("WHERE status NOT IN ('READY', 'ERROR')"),
  };
}
