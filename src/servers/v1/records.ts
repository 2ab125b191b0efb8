/** From V1's records to the domain's. */
import type { WebUrl } from '../links.ts';
import type { Conversation, SandboxStatus } from '../../domain/conversation.ts';
import { runStateV1 } from './run-status.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import type { Spec } from '../../domain/spec.ts';
import { normalizeTime } from '../../text/time.ts';
import type { AppConversationRecord, SandboxRecord, SpecRecord, StartTaskRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import type { Redaction } from '../transport/redaction.ts';

const SANDBOX: Record<string, SandboxStatus> = {
  STARTING: 'starting',
  RUNNING: 'running',
  PAUSED: 'paused',
  ERROR: 'error',
  MISSING: 'missing',
};

/** An unknown status is `unknown(<word>)`. */
export function sandboxStatus(word: string | null): SandboxStatus | null {
  if (word === null) return null;
  return SANDBOX[word.toUpperCase()] ?? `unknown(${word.toLowerCase()})`;
}

export function toConversation(record: AppConversationRecord, webUrl: WebUrl): Conversation {
  const id = normalId(record.id);
  const sandbox_status = sandboxStatus(record.sandbox_status);
  const { status, waiting_for } = runStateV1(record.execution_status, sandbox_status);
  return {
    id,
    start_task_id: null,
    title: record.title,
    status,
    reason: null,
    waiting_for,
    dialect: 'v1',
    execution_status: record.execution_status,
    sandbox_id: record.sandbox_id,
    sandbox_status,
    repository: record.selected_repository,
    branch: record.selected_branch,
    git_provider: record.git_provider,
    model: record.llm_model,
    created_at: normalizeTime(record.created_at),
    updated_at: normalizeTime(record.updated_at),
    // The record cannot date its metrics (metrics.ts).
    cost_usd: null,
    tokens: null,
    url: webUrl(id),
  };
}

/** A start task that has no conversation (yet). */
export function taskConversation(task: StartTaskRecord): Conversation {
  const asked = (name: string): string | null => {
    const value = task.request[name];
    return typeof value === 'string' ? value : null;
  };
  const failed = task.status === 'ERROR';
  return {
    id: task.app_conversation_id === null ? '' : normalId(task.app_conversation_id),
    start_task_id: normalId(task.id),
    title: asked('title'),
    status: failed ? 'failed' : 'starting',
    reason: failed ? { code: 'start-failed', text: startFailureText(task.detail) } : null,
    waiting_for: null,
    dialect: 'v1',
    execution_status: null,
    sandbox_id: task.sandbox_id,
    sandbox_status: null,
    repository: asked('selected_repository'),
    branch: asked('selected_branch'),
    git_provider: asked('git_provider'),
    model: asked('llm_model'),
    created_at: normalizeTime(task.created_at),
    updated_at: normalizeTime(task.updated_at),
    cost_usd: null,
    tokens: null,
    url: null,
  };
}

/** The detail may be empty (interface 4.1). */
export function startFailureText(detail: string | null): string {
  if (detail !== null && detail.trim() !== '') return detail.trim().slice(0, 500);
  return 'the server gives no reason; settings may be missing (see acs settings get)';
}

/** Facts of a sandbox from the records of its conversations. */
export interface SandboxUse {
  conversation_ids: string[];
  repositories: string[];
  last_active_at: string | null;
}

export function sandboxUse(records: readonly AppConversationRecord[]): SandboxUse {
  const times = records.map((record) => normalizeTime(record.updated_at)).filter((time) => time !== null);
  const repositories = records.map((record) => record.selected_repository).filter((name) => name !== null);
  return {
    conversation_ids: records.map((record) => normalId(record.id)),
    repositories: [...new Set(repositories)],
    last_active_at: times.sort().at(-1) ?? null,
  };
}

export function toSandbox(record: SandboxRecord, use: SandboxUse, redaction: Redaction): Sandbox {
  const created_at = normalizeTime(record.created_at);
  const times = [use.last_active_at, normalizeTime(record.last_active_at), created_at].filter((time) => time !== null);
  return {
    id: record.id,
    status: sandboxStatus(record.status) ?? 'error',
    status_detail: record.status_detail,
    spec_id: record.sandbox_spec_id,
    created_at,
    last_active_at: times.sort().at(-1) ?? null,
    conversation_ids: use.conversation_ids,
    repositories: use.repositories,
    // The editor's URL carries the session key as `tkn`.
    urls: record.exposed_urls.map(({ name, url }) => ({
      name,
      url: redaction.text(url).replace(/([?&]tkn=)[^&#]*/g, '$1***'),
    })),
  };
}

export function toSpec(record: SpecRecord, isDefault: Spec['default']): Spec {
  return {
    id: record.id,
    default: isDefault,
    command: record.command,
    working_dir: record.working_dir,
    created_at: normalizeTime(record.created_at),
  };
}
