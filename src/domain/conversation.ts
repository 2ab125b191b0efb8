// Field names and values are the public contract.

// prettier-ignore
export const CONVERSATION_STATUSES = [
  'starting', 'idle', 'running', 'waiting', 'paused', 'finished', 'failed', 'stuck', 'stopped',
  'archived', 'deleting',
] as const;

/** `unknown(<name>)`: of a later server. Servers do not have `deleted`: no filter accepts it. */
export type ConversationStatus =
  (typeof CONVERSATION_STATUSES)[number] | 'deleted' | `unknown(${string})`;

/** Of an app server. */
export type AppDialect = 'v0' | 'v1';

/** `agent`: an agent server that is reached directly (interface 14). */
export type Dialect = AppDialect | 'agent';

export interface Reason {
  code: string;
  text: string;
}

export interface Conversation {
  /** 32 hex digits without dashes; empty while only the start task exists. */
  id: string;
  /** The id that a start in progress has chosen. */
  chosen_id?: string;
  start_task_id: string | null;
  title: string | null;
  status: ConversationStatus;
  /** The sandbox does not answer now and may answer later. Not printed. */
  may_recover?: true;
  reason: Reason | null;
  waiting_for: 'confirmation' | 'user' | null;
  dialect: Dialect;
  /** Null for V0, and for a sandbox that is paused or gone. */
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
  url: string | null;
}

/** In US dollars: a sum of fractions has digits that no price has (0.1 + 0.2). */
export function roundedUsd(amount: number): number {
  return Number(amount.toFixed(6));
}

/** `unknown`: the server does not know it. */
// prettier-ignore
export const SANDBOX_STATUSES = [
  'starting', 'running', 'paused', 'error', 'missing', 'unknown',
] as const;

export type SandboxStatus = (typeof SANDBOX_STATUSES)[number] | `unknown(${string})`;

export function knownId({ id, chosen_id }: Pick<Conversation, 'id' | 'chosen_id'>): string | null {
  return id || chosen_id || null;
}

export type RunState = Pick<Conversation, 'status' | 'waiting_for'>;

export function isUntitled(title: string | null): boolean {
  return title === null || /^Conversation [0-9a-f]{5}([0-9a-f]{27})?$/.test(title);
}

/** The sandbox runs without a status of the run: not an end. */
export const NO_STATUS = 'unknown(no-status)';

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

/** A replay has neither tokens nor costs. */
export function usedNoModel({
  cost_usd,
  tokens,
}: Pick<Conversation, 'cost_usd' | 'tokens'>): boolean {
  return cost_usd === 0 && (tokens === null || tokens.input + tokens.output === 0);
}
