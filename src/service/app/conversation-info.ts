/** A conversation as V0 shows it (interface section 3.2). */
import { givenTitle, type ConversationRow } from '../storage/conversations.ts';
import type { AppContext } from './context.ts';
import { AGENT_STATES } from './v0-events/translate.ts';
import { sandboxLookup, sandboxStateOf, type SandboxState } from './conversation-record.ts';

const STATUSES: Record<SandboxState, string> = {
  STARTING: 'STARTING',
  RUNNING: 'RUNNING',
  PAUSED: 'STOPPED',
  ERROR: 'ERROR',
  MISSING: 'ARCHIVED',
};
const RUNTIME_STATUSES: Record<SandboxState, string | null> = {
  STARTING: 'STATUS$STARTING_RUNTIME',
  RUNNING: 'STATUS$RUNTIME_STARTED',
  PAUSED: null,
  ERROR: 'STATUS$ERROR',
  MISSING: null,
};

function stateOf(row: ConversationRow, context: AppContext, sandboxes = sandboxLookup(context)): SandboxState {
  return sandboxStateOf(row, sandboxes(row.sandbox_id));
}

/** The status of a conversation in V0. */
export function statusOf(row: ConversationRow, context: AppContext): string {
  return STATUSES[stateOf(row, context)];
}

/** The record of a conversation of either dialect. Its sandbox is looked up once per answer by `sandboxes`. */
export function conversationInfo(
  row: ConversationRow,
  context: AppContext,
  sandboxes = sandboxLookup(context),
): unknown {
  const state = stateOf(row, context, sandboxes);
  const sandbox = sandboxes(row.sandbox_id);
  const isRunning = state === 'RUNNING';
  const path = `/api/conversations/${row.id}`;
  // A conversation of V1 is reached at its agent server, one of V0 here.
  const url = row.dialect === 'V0' ? path : `http://127.0.0.1:${sandbox?.port}${path}`;
  return {
    conversation_id: row.id,
    title: row.title ?? givenTitle(row.id),
    last_updated_at: row.updated_at,
    status: STATUSES[state],
    // The runtime of V1 is a sandbox, which has a status of its own.
    runtime_status: isRunning && row.dialect === 'V1' ? 'STATUS$READY' : RUNTIME_STATUSES[state],
    selected_repository: row.repository,
    selected_branch: row.branch,
    git_provider: row.git_provider,
    trigger: row.trigger,
    num_connections: 0,
    url: isRunning ? url : null,
    session_api_key: isRunning && row.dialect === 'V1' ? (sandbox?.session_api_key ?? null) : null,
    created_at: row.created_at,
    pr_number: row.pr_number,
    conversation_version: row.dialect,
    sub_conversation_ids: context.store.conversations.childrenOf(row.id),
    public: row.public,
    sandbox_id: row.dialect === 'V1' ? row.sandbox_id : null,
    // Sent by the local service only: its V0 conversations run in sandboxes too. Without V1 no route takes the id.
    ...(context.api === 'v0' ? {} : { local_sandbox_id: row.sandbox_id }),
    // Sent by the local service only: at other servers the status of a V0 run is in its events alone, which a list would
    // have to read for each conversation.
    ...(row.dialect === 'V0' ? { local_agent_state: agentStateOf(row) } : {}),
  };
}

function agentStateOf({ execution_status: status }: ConversationRow): string | null {
  if (status === null) return null;
  return status === 'idle' ? 'awaiting_user_input' : (AGENT_STATES[status] ?? null);
}
