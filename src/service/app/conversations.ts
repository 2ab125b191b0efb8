import { rmSync } from 'node:fs';
import path from 'node:path';
import { noMetrics, shownMetrics } from '../storage/conversation-state.ts';
import type { ConversationRow } from '../storage/conversations.ts';
import { deleteEventLog, eventLogFile } from '../storage/event-log.ts';
import { agentUrl, type SandboxRow } from '../storage/sandboxes.ts';
import type { AgentAnswer, AgentRequest } from '../sandboxes/agent-client.ts';
import { SandboxUnavailable } from '../sandboxes/supervisor.ts';
import type { HttpError } from '../http/answer.ts';
import type { AppContext } from './context.ts';

export type SandboxState = SandboxRow['status'] | 'MISSING';

export function sandboxOf(
  row: ConversationRow,
  { store }: Pick<AppContext, 'store'>,
): { sandbox: SandboxRow | null; state: SandboxState } {
  const sandbox = store.sandboxes.get(row.sandbox_id);
  const ofStart = { starting: 'STARTING', failed: 'ERROR', ready: null } as const;
  return { sandbox, state: ofStart[row.start_state] ?? sandbox?.status ?? 'MISSING' };
}

export async function sendTo(
  { supervisor }: Pick<AppContext, 'supervisor'>,
  sandboxId: string,
  request: AgentRequest,
  refusal: (message: string) => HttpError,
): Promise<AgentAnswer> {
  try {
    return await supervisor.send(sandboxId, request);
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw refusal(error.message);
    throw error;
  }
}

export function workspacePath(row: Pick<ConversationRow, 'working_dir'>, given: string): string {
  return path.posix.isAbsolute(given) ? given : path.posix.join(row.working_dir ?? '/', given);
}

/** The record that V1 shows (interface section 4.3). */
export function conversationRecord(
  row: ConversationRow,
  context: AppContext,
): Record<string, unknown> {
  const { sandbox, state } = sandboxOf(row, context);
  const url = state === 'RUNNING' ? agentUrl(sandbox) : null;
  return {
    ...sharedRecord(row, context),
    trigger: row.trigger,
    agent_kind: 'openhands',
    public: row.public,
    // Without a folder it is `.`, as on genuine servers: clients reject a record without this tag.
    tags: {
      archiveworkspacepath: row.working_dir ?? '.',
      basecommit: row.base_commit ?? undefined,
    },
    sandbox_status: state,
    // A run whose sandbox stopped during it has no status, as on genuine servers.
    execution_status:
      url === null && row.execution_status === 'running' ? null : row.execution_status,
    conversation_url: url && `${url}/api/conversations/${row.id}`,
    session_api_key: url && sandbox?.session_api_key,
    acp_server: null,
    launched_agent_profile: null,
  };
}

/** Without address, key and state of the sandbox. */
export function sharedRecord(row: ConversationRow, context: AppContext): Record<string, unknown> {
  return {
    ...commonMembers(row, context),
    id: row.id,
    created_by_user_id: null,
    sandbox_id: row.sandbox_id,
    title: row.title,
    llm_model: row.llm_model,
    metrics: shownMetrics(row.metrics ?? { ...noMetrics(''), model_name: 'default' }),
    parent_conversation_id: row.parent_id,
    updated_at: row.updated_at,
  };
}

export function commonMembers(row: ConversationRow, { store }: AppContext) {
  return {
    selected_repository: row.repository,
    selected_branch: row.branch,
    git_provider: row.git_provider,
    pr_number: row.pr_number,
    sub_conversation_ids: store.conversations.childrenOf(row.id),
    created_at: row.created_at,
  };
}

/** Deletes its sub-conversations and its otherwise unused sandbox too. False: it is unknown. */
export async function removeConversation(context: AppContext, id: string): Promise<boolean> {
  const { store, supervisor } = context;
  const row = store.conversations.get(id);
  if (row === null) return false;
  for (const child of store.conversations.childrenOf(id)) await removeConversation(context, child);
  const { sandbox_id: sandboxId } = row;
  const isAlone =
    sandboxId !== null &&
    store.conversations.ofSandbox(sandboxId).every((other) => other.id === id);
  if (sandboxId !== null && !isAlone && store.sandboxes.get(sandboxId)?.status === 'RUNNING') {
    // The worker has the log open. One that cannot be reached does not prevent the deletion.
    await supervisor
      .send(sandboxId, { method: 'DELETE', path: `/api/conversations/${id}` })
      .catch(() => undefined);
  }
  store.conversations.remove(id);
  context.logs.forget(id);
  if (sandboxId === null) return true;
  const events = supervisor.folders.events(sandboxId);
  if (!isAlone) deleteEventLog(eventLogFile(events, id));
  else {
    const log = (error: unknown) =>
      context.log(`sandbox ${sandboxId} could not be removed: ${String(error)}`);
    void supervisor
      .remove(sandboxId)
      .catch(log)
      .then(() => rmSync(events, { recursive: true, force: true }))
      .catch(log);
  }
  return true;
}
