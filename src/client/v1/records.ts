import {
  blankConversation,
  NO_STATUS,
  SANDBOX_STATUSES,
  type Conversation,
  type ConversationStatus,
  type RunState,
  type SandboxStatus,
} from '../../domain/conversation.ts';
import { byId } from '../../domain/pages.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type {
  AppConversationRecord,
  SandboxRecord,
  StartTaskRecord,
} from '../../protocol/v1/records.ts';
import { hasEnded } from '../../runs/status.ts';
import { normalId } from '../../domain/ids.ts';
import { runStateOf } from '../agent-server/state.ts';
import { webUrl, type Links } from '../shared/links.ts';
import { cut } from '../../base/text/well-formed.ts';

const DOWN: Readonly<Record<string, ConversationStatus>> = {
  starting: 'starting',
  paused: 'paused',
  missing: 'archived',
  error: 'failed',
};

/** Without a running sandbox a run keeps its end; in a paused one a confirmation still waits. */
export function runStateV1(lastStatus: string | null, sandbox: SandboxStatus | null): RunState {
  const down = sandbox === null ? undefined : DOWN[sandbox];
  if (lastStatus === null) return { status: down ?? NO_STATUS, waiting_for: null };
  const state = runStateOf(lastStatus);
  const staysWaiting = state.status === 'waiting' && sandbox === 'paused';
  if (down !== undefined && !hasEnded(state.status) && !staysWaiting)
    return { status: down, waiting_for: null };
  return state;
}

export function sandboxStatus(served: string | null): SandboxStatus | null {
  const status = served?.toLowerCase() ?? null;
  const isKnown = status === null || SANDBOX_STATUSES.some((known) => known === status);
  return isKnown ? (status as SandboxStatus | null) : `unknown(${status})`;
}

export interface ReadConversation extends Conversation {
  /** Not enumerable, as it has the key of the sandbox: output and copies lack it. */
  readonly record?: AppConversationRecord;
}

export function toConversation(links: Links, record: AppConversationRecord): ReadConversation {
  const id = normalId(record.id);
  const sandbox_status = sandboxStatus(record.sandbox_status);
  const { status, waiting_for } = runStateV1(record.execution_status, sandbox_status);
  const conversation = {
    // The record cannot date its metrics (quirks/late-metrics.ts): they stay null.
    ...blankConversation(id, status),
    title: record.title,
    waiting_for,
    execution_status: record.execution_status,
    sandbox_id: record.sandbox_id,
    sandbox_status,
    repository: record.selected_repository,
    branch: record.selected_branch,
    git_provider: record.git_provider,
    model: record.llm_model,
    created_at: normalizeTime(record.created_at),
    updated_at: normalizeTime(record.updated_at),
    url: webUrl(links, id),
  };
  return Object.defineProperty(conversation, 'record', { value: record });
}

export function taskConversation(task: StartTaskRecord): Conversation {
  const requested = (name: string) => {
    const value = task.request[name];
    return typeof value === 'string' ? value : null;
  };
  const failed = task.status === 'ERROR';
  return {
    ...blankConversation(normalId(task.app_conversation_id ?? ''), failed ? 'failed' : 'starting'),
    start_task_id: normalId(task.id),
    title: requested('title'),
    reason: failed ? { code: 'start-failed', text: startFailureText(task.detail) } : null,
    sandbox_id: task.sandbox_id,
    repository: requested('selected_repository'),
    branch: requested('selected_branch'),
    git_provider: requested('git_provider'),
    model: requested('llm_model'),
    created_at: normalizeTime(task.created_at),
    updated_at: normalizeTime(task.updated_at),
  };
}

export function startFailureText(detail: string | null): string {
  if (detail !== null && detail.trim() !== '') return cut(detail.trim(), 500);
  return 'the server gives no reason; settings may be missing (see acs settings get)';
}

export function toSandbox(
  links: Links,
  record: SandboxRecord,
  conversations: readonly Conversation[] = [],
): Sandbox {
  const created_at = normalizeTime(record.created_at);
  const times = [normalizeTime(record.last_active_at), created_at];
  return {
    id: record.id,
    status: sandboxStatus(record.status) ?? 'error',
    status_detail: record.status_detail,
    spec_id: record.sandbox_spec_id,
    created_at,
    last_active_at:
      [...times, ...conversations.map(({ updated_at }) => updated_at)]
        .flatMap((time) => time ?? [])
        .sort()
        .at(-1) ?? null,
    conversation_ids: conversations.map(byId),
    repositories: [...new Set(conversations.flatMap(({ repository }) => repository ?? []))],
    // The editor's URL carries the session key as `tkn`.
    urls: record.exposed_urls.map(({ name, url }) => ({
      name,
      url: links.network.redaction.text(url).replace(/([?&]tkn=)[^&#]*/g, '$1***'),
    })),
  };
}
