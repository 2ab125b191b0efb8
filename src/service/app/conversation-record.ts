/** A conversation as V1 shows it (interface section 4.3). */
import type { ConversationRow } from '../storage/conversations.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';
import type { AppContext } from './context.ts';
import { shownRepository } from './repositories/repository.ts';
import type { ExecutionStatus, Metrics } from '../storage/conversation-state.ts';

const NO_METRICS: Metrics = {
  model_name: 'default',
  accumulated_cost: 0,
  max_budget_per_task: null,
  accumulated_token_usage: {
    model: '',
    prompt_tokens: 0,
    completion_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    context_window: 0,
    per_turn_token: 0,
    response_id: '',
  },
};

export type SandboxState = SandboxRow['status'] | 'MISSING';

/** The state of the sandbox of a conversation. */
export function sandboxStateOf(row: ConversationRow, sandbox: SandboxRow | null): SandboxState {
  if (row.start_state === 'failed') return 'ERROR';
  if (sandbox !== null) return row.start_state === 'starting' ? 'STARTING' : sandbox.status;
  return row.start_state === 'starting' ? 'STARTING' : 'MISSING';
}

/** The record of a conversation. Its sandbox is looked up once per answer by `sandboxes`. */
export function conversationRecord(
  row: ConversationRow,
  context: AppContext,
  sandboxes = sandboxLookup(context),
): unknown {
  const sandbox = sandboxes(row.sandbox_id);
  const status = sandboxStateOf(row, sandbox);
  const isReachable = status === 'RUNNING' && sandbox?.port != null;
  return {
    id: row.id,
    created_by_user_id: null,
    sandbox_id: row.sandbox_id,
    selected_repository: row.repository,
    selected_branch: row.branch,
    git_provider: row.git_provider,
    title: row.title,
    trigger: row.trigger,
    pr_number: row.pr_number,
    llm_model: row.llm_model,
    agent_kind: 'openhands',
    metrics: row.metrics ?? NO_METRICS,
    parent_conversation_id: row.parent_id,
    sub_conversation_ids: context.store.conversations.childrenOf(row.id),
    public: row.public,
    tags: tagsOf(row),
    created_at: row.created_at,
    updated_at: row.updated_at,
    sandbox_status: status,
    execution_status: lastRunStatus(row, isReachable ? 'up' : 'down'),
    conversation_url: isReachable ? `http://127.0.0.1:${sandbox.port}/api/conversations/${row.id}` : null,
    session_api_key: isReachable ? sandbox.session_api_key : null,
    acp_server: null,
    launched_agent_profile: null,
  };
}

/** The last status of the run. A run whose sandbox stopped during it has no status, as on genuine servers. */
function lastRunStatus({ execution_status: status }: ConversationRow, sandbox: 'up' | 'down'): ExecutionStatus | null {
  return sandbox === 'down' && status === 'running' ? null : status;
}

/** The record for readers without a key: no address, key or state of the sandbox, and no local path. */
export function sharedConversationRecord(row: ConversationRow, context: AppContext): unknown {
  return {
    id: row.id,
    created_by_user_id: null,
    sandbox_id: row.sandbox_id,
    selected_repository: sharedRepository(row.repository),
    selected_branch: row.branch,
    git_provider: row.git_provider,
    title: row.title,
    pr_number: row.pr_number,
    llm_model: row.llm_model,
    metrics: row.metrics ?? NO_METRICS,
    parent_conversation_id: row.parent_id,
    sub_conversation_ids: context.store.conversations.childrenOf(row.id),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Hides a folder of this machine, and the password in a URL. */
function sharedRepository(repository: string | null): string | null {
  return repository === null || /^(?:\/|file:)/i.test(repository) ? null : shownRepository(repository);
}

/**
 * Where the run works and what it started from, for a client that shows or retrieves the changes. A conversation that
 * has no folder yet has `.`, as on genuine servers: clients take a record without this tag for one that lost members.
 */
function tagsOf(row: ConversationRow): Record<string, string> {
  return {
    archiveworkspacepath: row.working_dir ?? '.',
    ...(row.base_commit === null ? {} : { basecommit: row.base_commit }),
  };
}

/** Looks sandboxes up, each one once. */
export function sandboxLookup(context: AppContext): (id: string | null) => SandboxRow | null {
  const known = new Map<string, SandboxRow | null>();
  return (id) => {
    if (id === null) return null;
    const found = known.get(id);
    if (found !== undefined) return found;
    const row = context.store.sandboxes.get(id);
    known.set(id, row);
    return row;
  };
}
