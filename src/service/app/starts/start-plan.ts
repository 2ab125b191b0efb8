/** A start, the same for both dialects, and the conversation that it creates. */
import type { ConfirmationPolicyRequest } from '../../../protocol/agent-server/requests.ts';
import type { Provider } from '../../../protocol/v1/requests.ts';
import type { ReplayStep } from '../../agents/replay/steps.ts';
import { givenTitle, type ConversationRow } from '../../storage/conversations.ts';
import { valueAt, type StoredSettings } from '../settings/record.ts';
import type { SandboxSpecName } from '../../sandboxes/worker-protocol.ts';
import type { Json } from '../settings/json.ts';

/** What to start, whatever the dialect of the request. */
export interface StartRequest {
  dialect: 'V0' | 'V1';
  /** 32 hexadecimal digits; null: a fresh one. */
  conversationId: string | null;
  sandboxId: string | null;
  /** Null: the default of the service. */
  spec: SandboxSpecName | null;
  /** Content blocks of the first message; null: none. */
  message: { role: string; content: unknown[] } | null;
  replay: ReplayStep[];
  /** Null: as the settings say. */
  confirmationPolicy: ConfirmationPolicyRequest | null;
  /** Without user and password: it is kept and shown. */
  repository: string | null;
  /** The same as it was given, for the clone alone. */
  cloneFrom: string | null;
  branch: string | null;
  provider: Provider | null;
  trigger: string | null;
  prNumber: number[];
  llmModel: string | null;
  parentId: string | null;
  isPublic: boolean | null;
  /** Values for this conversation only, by environment name. */
  secrets: Record<string, string>;
  /** What the request gave and is kept for later. */
  extras: Record<string, unknown>;
  /** The request as the start task shows it. */
  echo: Record<string, unknown>;
}

/** The requested conversation, before it has a record. */
export function newConversation(
  id: string,
  request: StartRequest,
  state: ConversationRow['start_state'],
  now: string,
): ConversationRow {
  return {
    id,
    dialect: request.dialect,
    start_state: state,
    start_detail: null,
    sandbox_id: null,
    title: givenTitle(id),
    execution_status: null,
    parent_id: request.parentId,
    public: request.isPublic,
    repository: request.repository,
    branch: request.branch,
    git_provider: request.provider,
    trigger: request.trigger,
    pr_number: request.prNumber,
    llm_model: request.llmModel,
    metrics: null,
    working_dir: null,
    base_commit: null,
    extras: request.extras,
    created_at: now,
    updated_at: now,
  };
}

interface Place {
  conversationId: string;
  /** As seen inside the sandbox. */
  workingDir: string;
  /** Those of the user, for every conversation. */
  secrets: Record<string, string>;
}

/** The body with which the agent server starts the conversation (interface section 7.4). */
export function agentConversation(
  request: StartRequest,
  { conversation: settings }: StoredSettings,
  { conversationId, workingDir, secrets }: Place,
): unknown {
  const isAsking = valueAt(settings, 'confirmation_mode') === true;
  const policy = isAsking
    ? { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }
    : { kind: 'NeverConfirm' };
  return {
    conversation_id: conversationId,
    initial_message: request.message === null ? null : { ...request.message, run: true },
    workspace: { working_dir: workingDir },
    max_iterations: valueAt(settings, 'max_iterations') ?? 500,
    confirmation_policy: request.confirmationPolicy ?? policy,
    security_analyzer: analyzerOf(valueAt(settings, 'security_analyzer')),
    secrets: { ...secrets, ...request.secrets },
    replay: request.replay,
    agent: { llm: { model: request.llmModel ?? 'replay' } },
  };
}

/** What the setting `security_analyzer` means to an agent server; `llm` where nothing is set. */
function analyzerOf(setting: Json | undefined): { kind: string } | null {
  return setting === undefined || setting === 'llm' ? { kind: 'LLMSecurityAnalyzer' } : null;
}
