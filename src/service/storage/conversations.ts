import type { Sql } from './database.ts';
import type { ExecutionStatus, Metrics } from './conversation-state.ts';
import { Table, where } from './table.ts';

/** A conversation as it is stored. Times RFC 3339 with microseconds and `Z`. */
export interface ConversationRow {
  id: string;
  /** The dialect it was created over; V0 lists and returns those of V1 too. */
  dialect: 'V0' | 'V1';
  /** `starting` and `failed` exist only for V0, which names a conversation before it has begun. */
  start_state: 'starting' | 'ready' | 'failed';
  start_detail: string | null;
  sandbox_id: string | null;
  title: string | null;
  /** The last status of its run, whether its sandbox runs or not; null: unknown. */
  execution_status: ExecutionStatus | null;
  parent_id: string | null;
  public: boolean | null;
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
  trigger: string | null;
  pr_number: number[];
  llm_model: string | null;
  metrics: Metrics | null;
  /** The path that commands inside see: the repository, or the workspace when there is none. */
  working_dir: string | null;
  /** The commit the run started from; null: no repository, or one without a commit. */
  base_commit: string | null;
  extras: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

export function defaultTitle(id: string): string {
  return `Conversation ${id.slice(0, 5)}`;
}

export function hasDefaultTitle(row: Pick<ConversationRow, 'id' | 'title'>): boolean {
  return row.title === defaultTitle(row.id);
}

/** Which conversations; times compared as text, so they must be in the stored form. */
export interface ConversationFilter {
  dialect?: 'V0' | 'V1';
  titleContains?: string;
  createdGte?: string;
  createdLt?: string;
  updatedGte?: string;
  updatedLt?: string;
  sandboxId?: string;
  repository?: string;
  trigger?: string;
  topLevelOnly?: boolean;
}

export class ConversationStore extends Table<ConversationRow> {
  constructor(sql: Sql) {
    super(sql, 'conversations', { json: ['pr_number', 'metrics', 'extras'], flags: ['public'] });
  }

  page(filter: ConversationFilter, limit: number, from: string): ConversationRow[] {
    return this.newest(matching(filter), limit, from);
  }

  count(filter: ConversationFilter): number {
    const { dialect, topLevelOnly, ...others } = filter;
    if (Object.keys(others).length > 0) {
      const { clause, values } = where(matching(filter));
      return this.countRows(clause, ...values);
    }
    const { clause, values } = where({
      'dialect = ?': dialect,
      'is_child = ?': topLevelOnly === true ? 0 : undefined,
    });
    const text = `SELECT total(n) AS n FROM conversation_counts ${clause}`;
    return this.sql.get<{ n: number }>(text, ...values)?.n ?? 0;
  }

  ofSandbox(sandboxId: string): ConversationRow[] {
    return this.select('WHERE sandbox_id = ? ORDER BY created_at', sandboxId);
  }

  sandboxesOfUnknown(): string[] {
    return this.#ids(`SELECT DISTINCT sandbox_id AS id FROM conversations
      WHERE execution_status IS NULL AND start_state = 'ready' AND sandbox_id IS NOT NULL`);
  }

  childrenOf(id: string): string[] {
    return this.#ids('SELECT id FROM conversations WHERE parent_id = ? ORDER BY created_at', id);
  }

  /** A conversation whose sandbox does not run is not running, whatever its last status. */
  countRunning(): number {
    return this.countRows(`JOIN sandboxes ON sandboxes.id = conversations.sandbox_id
      WHERE conversations.execution_status = 'running' AND sandboxes.status = 'RUNNING'`);
  }

  #ids(query: string, ...values: string[]): string[] {
    return this.sql.all<{ id: string }>(query, ...values).map(({ id }) => id);
  }
}

function matching(filter: ConversationFilter) {
  return {
    // `%` and `_` stay wildcards, as on genuine servers.
    "title LIKE '%' || ? || '%'": filter.titleContains,
    'dialect = ?': filter.dialect,
    'created_at >= ?': filter.createdGte,
    'created_at < ?': filter.createdLt,
    'updated_at >= ?': filter.updatedGte,
    'updated_at < ?': filter.updatedLt,
    'sandbox_id = ?': filter.sandboxId,
    'repository = ?': filter.repository,
    'trigger = ?': filter.trigger,
    '(parent_id IS NULL) = ?': filter.topLevelOnly === true ? 1 : undefined,
  };
}
