import type { Sql } from './database.ts';
import { Table, where } from './table.ts';

/** A start task as it is stored. Times RFC 3339 with microseconds and `Z`. */
export interface StartTaskRow {
  id: string;
  /** The dialect of the request; V0 has no start tasks. */
  dialect: 'V0' | 'V1';
  /** See interface section 4.2. */
  status:
    | 'WORKING'
    | 'WAITING_FOR_SANDBOX'
    | 'PREPARING_REPOSITORY'
    | 'RUNNING_SETUP_SCRIPT'
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

interface StartTaskFilter {
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

export class StartTaskStore extends Table<StartTaskRow> {
  constructor(sql: Sql) {
    super(sql, 'start_tasks', { json: ['request'] });
  }

  page(
    filter: StartTaskFilter,
    sort: keyof typeof ORDER,
    limit: number,
    offset: number,
  ): StartTaskRow[] {
    const { clause, values } = matching(filter);
    const rest = `${clause} ORDER BY ${ORDER[sort]} LIMIT ? OFFSET ?`;
    return this.select(rest, ...values, limit, offset);
  }

  count(filter: StartTaskFilter): number {
    const { clause, values } = matching(filter);
    return this.countRows(clause, ...values);
  }

  unfinished(): StartTaskRow[] {
    return this.select("WHERE status NOT IN ('READY', 'ERROR')");
  }
}

function matching({ dialect, conversationId, createdGte }: StartTaskFilter) {
  return where({
    'dialect = ?': dialect,
    'conversation_id = ?': conversationId,
    'created_at >= ?': createdGte,
  });
}
