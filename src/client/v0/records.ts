/**
 * Records of V0 in the shapes of src/domain. An unknown status is `unknown(<word>)`, which does not
 * end a run.
 */
import type { Conversation, Reason, RunState, SandboxStatus } from '../../domain/conversation.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { hasEnded } from '../../runs/status.ts';
import { normalId } from '../../domain/ids.ts';
import type { WebUrl } from '../shared/links.ts';

/** What the events of a run say. */
export interface RunNews {
  agentState: string | null;
  reason: string;
  answered: boolean;
  cost: number | null;
  tokens: { input: number; output: number } | null;
}

/** As servers show sandboxes of V1 in the V0 list (interface 3.2). */
const SANDBOX: Record<string, SandboxStatus> = {
  STARTING: 'starting',
  RUNNING: 'running',
  STOPPED: 'paused',
  ERROR: 'error',
  ARCHIVED: 'missing',
};

const AGENT_STATES: Record<string, RunState> = {
  loading: { status: 'starting', waiting_for: null },
  init: { status: 'starting', waiting_for: null },
  running: { status: 'running', waiting_for: null },
  user_confirmed: { status: 'running', waiting_for: null },
  rate_limited: { status: 'running', waiting_for: null },
  user_rejected: { status: 'idle', waiting_for: 'user' },
  awaiting_user_confirmation: { status: 'waiting', waiting_for: 'confirmation' },
  paused: { status: 'paused', waiting_for: null },
  stopped: { status: 'stopped', waiting_for: null },
  finished: { status: 'finished', waiting_for: null },
  rejected: { status: 'failed', waiting_for: null },
  error: { status: 'failed', waiting_for: null },
};

/** @param news null: its events were not read */
export function toConversationV0(
  info: ConversationInfo,
  news: RunNews | null,
  webUrl: WebUrl,
): Conversation {
  const id = normalId(info.conversation_id);
  const agentState =
    (news === null ? info.local_agent_state : news.agentState)?.toLowerCase() ?? null;
  const { status, waiting_for } = runStateV0(info.status, agentState, news?.answered ?? false);
  const fromRuntime =
    info.runtime_status !== null && /ERROR/.test(info.runtime_status) ? info.runtime_status : '';
  return {
    id,
    start_task_id: null,
    title: info.title,
    status,
    reason: reasonV0(status, agentState, news?.reason || fromRuntime),
    waiting_for,
    dialect: 'v0',
    execution_status: null,
    // Only the local service names one; elsewhere conversations are paused and resumed in the same
    // way.
    sandbox_id: info.local_sandbox_id,
    sandbox_status: SANDBOX[info.status.toUpperCase()] ?? null,
    repository: info.selected_repository,
    branch: info.selected_branch,
    git_provider: info.git_provider,
    model: null,
    created_at: normalizeTime(info.created_at),
    updated_at: normalizeTime(info.last_updated_at),
    cost_usd: news?.cost ?? null,
    tokens: news?.tokens ?? null,
    url: webUrl(id),
  };
}

/** Failures show in the newest agent state only (interface 3.4). */
function runStateV0(recordStatus: string, agentState: string | null, answered: boolean): RunState {
  let ofAgent = agentState === null ? null : AGENT_STATES[agentState];
  if (ofAgent === undefined) ofAgent = { status: `unknown(${agentState})`, waiting_for: null };
  // An agent that answers in text ends in this state.
  if (agentState === 'awaiting_user_input')
    ofAgent = { status: answered ? 'finished' : 'idle', waiting_for: 'user' };
  const end = ofAgent !== null && hasEnded(ofAgent.status) ? ofAgent : null;
  switch (recordStatus.toUpperCase()) {
    case 'STARTING':
      return { status: 'starting', waiting_for: null };
    case 'RUNNING':
      return ofAgent ?? { status: 'running', waiting_for: null };
    case 'STOPPED':
      return end ?? { status: 'stopped', waiting_for: null };
    case 'ARCHIVED':
      return end ?? { status: 'archived', waiting_for: null };
    case 'ERROR':
      return { status: 'failed', waiting_for: null };
    default:
      return { status: `unknown(${recordStatus.toLowerCase()})`, waiting_for: null };
  }
}

/**
 * `STATUS$ERROR_LLM_AUTHENTICATION` → code `ERROR_LLM_AUTHENTICATION`; free text has the code
 * `error`.
 */
function reasonV0(
  status: Conversation['status'],
  agentState: string | null,
  text: string,
): Reason | null {
  if (status === 'running' && agentState === 'rate_limited')
    return {
      code: 'rate-limited',
      text:
        'the model limits its rate; the agent may not continue by itself; a message makes ' +
        'it try again',
    };
  if (status !== 'failed' || text === '') return null;
  const code = /^STATUS\$(\w+)$/.exec(text)?.[1];
  return code === undefined
    ? { code: 'error', text }
    : { code, text: code.toLowerCase().replaceAll('_', ' ') };
}
