/**
 * What a conversation is to a user of acs, over both dialects. Field names and values are the public contract.
 */

/**
 * `starting` also covers a start task that has no conversation yet; `unknown(<word>)` is a word invented later.
 * `deleted` is reported by a delete, or by the wait for a conversation that no longer exists; servers do not have it, so
 * no filter accepts it.
 */
export type ConversationStatus =
  | 'starting'
  | 'idle'
  | 'running'
  | 'waiting'
  | 'paused'
  | 'finished'
  | 'failed'
  | 'stuck'
  | 'stopped'
  | 'archived'
  | 'deleted'
  | `unknown(${string})`;

export const CONVERSATION_STATUSES = [
  'starting',
  'idle',
  'running',
  'waiting',
  'paused',
  'finished',
  'failed',
  'stuck',
  'stopped',
  'archived',
] as const;

export type Dialect = 'v0' | 'v1';

/** Why a conversation is where it is: `code` for scripts, `text` for people. */
export interface Reason {
  code: string;
  text: string;
}

export interface Conversation {
  /** 32 hex digits without dashes; empty while only the start task exists (printed as `knownId`, or null). */
  id: string;
  /** The id it will have, where that was chosen with the start that is under way. */
  chosen_id?: string;
  start_task_id: string | null;
  title: string | null;
  status: ConversationStatus;
  /**
   * The status is that of a sandbox that does not answer now and may answer later: it is not the end of a run yet. Set
   * by an adapter. Not printed.
   */
  may_recover?: true;
  reason: Reason | null;
  /** What `waiting` or `idle` waits for. */
  waiting_for: 'confirmation' | 'user' | null;
  dialect: Dialect;
  /** The server's own word, null where it gives none (V0, or a sandbox that is paused or gone). */
  execution_status: string | null;
  sandbox_id: string | null;
  sandbox_status: SandboxStatus | null;
  /** `owner/name`, a URL or, on the local service, a path. */
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
  model: string | null;
  /** RFC 3339 with `Z`, as all times. */
  created_at: string | null;
  updated_at: string | null;
  cost_usd: number | null;
  tokens: { input: number; output: number } | null;
  /** Where a browser shows it; null where the server has no user interface. */
  url: string | null;
}

export type SandboxStatus = 'starting' | 'running' | 'paused' | 'error' | 'missing' | `unknown(${string})`;

export const SANDBOX_STATUSES = ['starting', 'running', 'paused', 'error', 'missing'] as const;

/** The id to print for a conversation: its own, or the one chosen by a start in progress. */
export function knownId({ id, chosen_id }: Pick<Conversation, 'id' | 'chosen_id'>): string | null {
  return id || chosen_id || null;
}

/** The status of the run of a conversation, and what it waits for. */
export type RunState = Pick<Conversation, 'status' | 'waiting_for'>;

/** The sandbox runs and its record has no status of the run: not an end. */
export const NO_STATUS = 'unknown(no-status)';

/** A record of a conversation of which only the id is known. */
export function blankConversation(id: string, status: Conversation['status']): Conversation {
  return {
    id,
    start_task_id: null,
    title: null,
    status,
    reason: null,
    waiting_for: null,
    dialect: 'v1',
    execution_status: null,
    sandbox_id: null,
    sandbox_status: null,
    repository: null,
    branch: null,
    git_provider: null,
    model: null,
    created_at: null,
    updated_at: null,
    cost_usd: null,
    tokens: null,
    url: null,
  };
}
