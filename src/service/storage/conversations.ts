import type { Sql, SqlValue } from './database.ts';
import type { ExecutionStatus, Metrics } from './conversation-state.ts';

/** A conversation as it is stored. Times RFC 3339 with microseconds and `Z`. */
export interface ConversationRow {
  /** 32 hexadecimal digits. */
  id: string;
  /** The dialect it was created over. V0 lists and returns those of V1, too; V1 returns only its own. */
  dialect: 'V0' | 'V1';
  /** `starting` and `failed` exist only for V0, which names a conversation before it has begun. */
  start_state: 'starting' | 'ready' | 'failed';
  /** Why it could not start. */
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
  /** As seen by the commands inside: the repository, or the workspace when there is none. */
  working_dir: string | null;
  /** The commit the run started from; null: no repository, or one without a commit. */
  base_commit: string | null;
  /** Members of the request without an effect here: instructions, images, plugins, processors ... */
  extras: Record<string, unknown>;
  created_at: string;
  updated_at: string;
}

/** The title that every conversation begins with. */
export function givenTitle(id: string): string {
  return `Conversation ${id.slice(0, 5)}`;
}

/** Whether the conversation still has its first title. */
export function isGivenTitle(row: Pick<ConversationRow, 'id' | 'title'>): boolean {
  return row.title === givenTitle(row.id);
}

export type ConversationChange = Partial<Omit<ConversationRow, 'id' | 'dialect' | 'created_at'>>;

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
  /** Only those without a parent. */
  topLevelOnly?: boolean;
}

export interface ConversationStore {
  insert(row: ConversationRow): void;
  get(id: string): ConversationRow | null;
  update(id: string, change: ConversationChange): void;
  /** Effective although it is not written, until the next `update` of this conversation. */
  remember(id: string, change: ConversationChange): void;
  /** Newest first. */
  page(filter: ConversationFilter, limit: number, offset: number): ConversationRow[];
  count(filter: ConversationFilter): number;
  ofSandbox(sandboxId: string): ConversationRow[];
  /** The sandboxes, deleted ones too, of started conversations whose last status is unknown. */
  sandboxesOfUnknown(): string[];
  childrenOf(id: string): string[];
  isAnyRunning(): boolean;
  countRunning(): number;
  remove(id: string): boolean;
}

const COLUMNS = [
  'id',
  'dialect',
  'start_state',
  'start_detail',
  'sandbox_id',
  'title',
  'execution_status',
  'parent_id',
  'public',
  'repository',
  'branch',
  'git_provider',
  'trigger',
  'pr_number',
  'llm_model',
  'metrics',
  'working_dir',
  'base_commit',
  'extras',
  'created_at',
  'updated_at',
] as const;
const LIST = COLUMNS.join(', ');
/** A conversation whose sandbox does not run is not running, whatever its last status. */
const RUNNING = `FROM conversations JOIN sandboxes ON sandboxes.id = conversations.sandbox_id
  WHERE conversations.execution_status = 'running' AND sandboxes.status = 'RUNNING'`;
type Column = (typeof COLUMNS)[number];
type Stored = Record<Column, SqlValue>;

export function createConversationStore(sql: Sql): ConversationStore {
  const unwritten = new Map<string, ConversationChange>();
  const one = (stored: Stored): ConversationRow => ({ ...fromStored(stored), ...unwritten.get(String(stored.id)) });
  const rows = (found: Stored[]): ConversationRow[] => found.map(one);
  return {
    insert(row) {
      const marks = COLUMNS.map(() => '?').join(', ');
      sql.run(`INSERT INTO conversations (${LIST}) VALUES (${marks})`, ...COLUMNS.map((name) => toSql(row[name])));
    },
    get(id) {
      const found = sql.get<Stored>(`SELECT ${LIST} FROM conversations WHERE id = ?`, id);
      return found === undefined ? null : one(found);
    },
    update(id, change) {
      const names = COLUMNS.filter((name) => (change as Partial<ConversationRow>)[name] !== undefined);
      if (names.length === 0) return;
      const sets = names.map((name) => `${name} = ?`).join(', ');
      const values = names.map((name) => toSql((change as Partial<ConversationRow>)[name]));
      sql.run(`UPDATE conversations SET ${sets} WHERE id = ?`, ...values, id);
      unwritten.delete(id);
    },
    remember(id, change) {
      unwritten.set(id, { ...unwritten.get(id), ...change });
    },
    page(filter, limit, offset) {
      const { clause, values } = where(filter);
      const query = `SELECT ${LIST} FROM conversations ${clause} ORDER BY created_at DESC LIMIT ? OFFSET ?`;
      return rows(sql.all<Stored>(query, ...values, limit, offset));
    },
    count(filter) {
      const { clause, values } = where(filter);
      return sql.get<{ n: number }>(`SELECT count(*) AS n FROM conversations ${clause}`, ...values)?.n ?? 0;
    },
    ofSandbox: (sandboxId) =>
      rows(sql.all<Stored>(`SELECT ${LIST} FROM conversations WHERE sandbox_id = ? ORDER BY created_at`, sandboxId)),
    sandboxesOfUnknown: () =>
      sql
        .all<{ id: string }>(
          `SELECT DISTINCT sandbox_id AS id FROM conversations
            WHERE execution_status IS NULL AND start_state = 'ready' AND sandbox_id IS NOT NULL`,
        )
        .map((row) => row.id),
    childrenOf: (id) =>
      sql
        .all<{ id: string }>('SELECT id FROM conversations WHERE parent_id = ? ORDER BY created_at', id)
        .map((row) => row.id),
    isAnyRunning: () => sql.get(`SELECT 1 AS one ${RUNNING} LIMIT 1`) !== undefined,
    countRunning: () => sql.get<{ n: number }>(`SELECT count(*) AS n ${RUNNING}`)?.n ?? 0,
    remove: (id) => sql.run('DELETE FROM conversations WHERE id = ?', id) > 0,
  };
}

function toSql(value: unknown): SqlValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return JSON.stringify(value);
}

function fromStored(stored: Stored): ConversationRow {
  const parsed = (text: SqlValue): unknown => (text === null ? null : JSON.parse(String(text)));
  return {
    ...(stored as unknown as ConversationRow),
    public: stored.public === null ? null : stored.public === 1,
    pr_number: parsed(stored.pr_number) as number[],
    metrics: parsed(stored.metrics) as Metrics | null,
    extras: parsed(stored.extras) as Record<string, unknown>,
  };
}

function where(filter: ConversationFilter): { clause: string; values: SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (condition: string, value: string | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  // `%` and `_` stay wildcards, as on genuine servers.
  add("title LIKE '%' || ? || '%'", filter.titleContains);
  add('dialect = ?', filter.dialect);
  add('created_at >= ?', filter.createdGte);
  add('created_at < ?', filter.createdLt);
  add('updated_at >= ?', filter.updatedGte);
  add('updated_at < ?', filter.updatedLt);
  add('sandbox_id = ?', filter.sandboxId);
  add('repository = ?', filter.repository);
  add('trigger = ?', filter.trigger);
  if (filter.topLevelOnly === true) conditions.push('parent_id IS NULL');
  return { clause: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
}
