/** An unknown status is `unknown(<status>)`, which does not end a run. */
import {
  blankConversation,
  type Conversation,
  type ConversationStatus,
  type Reason,
  type RunState,
  type SandboxStatus,
} from '../../domain/conversation.ts';
import { normalizeTime } from '../../base/text/time.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { hasEnded } from '../../runs/status.ts';
import { WAITS_FOR } from '../agent-server/state.ts';
import { normalId } from '../../domain/ids.ts';
import { webUrl, type Links } from '../shared/links.ts';

export interface RunNews {
  agentState: string | null;
  reason: string;
  answered: boolean;
  cost: number | null;
  tokens: { input: number; output: number } | null;
}

/** What the status of a record says of the conversation and of its sandbox. */
const RECORDS: Record<string, { status: ConversationStatus; sandbox: SandboxStatus }> = {
  STARTING: { status: 'starting', sandbox: 'starting' },
  RUNNING: { status: 'running', sandbox: 'running' },
  STOPPED: { status: 'stopped', sandbox: 'paused' },
  ARCHIVED: { status: 'archived', sandbox: 'missing' },
  ERROR: { status: 'failed', sandbox: 'error' },
};

const AGENT_STATES: Record<string, ConversationStatus> = {
  loading: 'starting',
  init: 'starting',
  running: 'running',
  user_confirmed: 'running',
  rate_limited: 'running',
  user_rejected: 'idle',
  awaiting_user_input: 'idle',
  awaiting_user_confirmation: 'waiting',
  paused: 'paused',
  stopped: 'stopped',
  finished: 'finished',
  rejected: 'failed',
  error: 'failed',
};

export function toConversationV0(
  links: Links,
  info: ConversationInfo,
  news: RunNews | null,
): Conversation {
  const id = normalId(info.conversation_id);
  const agentState =
    (news === null ? info.local_agent_state : news.agentState)?.toLowerCase() ?? null;
  const { status, waiting_for } = runStateV0(info.status, agentState, news?.answered ?? false);
  const fromRuntime = info.runtime_status?.includes('ERROR') ? info.runtime_status : '';
  return {
    ...blankConversation(id, status),
    title: info.title,
    reason: reasonV0(status, agentState, news?.reason || fromRuntime),
    waiting_for,
    dialect: 'v0',
    sandbox_id: info.local_sandbox_id,
    sandbox_status: RECORDS[info.status.toUpperCase()]?.sandbox ?? null,
    repository: info.selected_repository,
    branch: info.selected_branch,
    git_provider: info.git_provider,
    created_at: normalizeTime(info.created_at),
    updated_at: normalizeTime(info.last_updated_at),
    cost_usd: news?.cost ?? null,
    tokens: news?.tokens ?? null,
    url: webUrl(links, id),
  };
}

/** Failures show in the newest agent state only (interface 3.4). */
function runStateV0(recordStatus: string, agentState: string | null, answered: boolean): RunState {
  const record = recordStatus.toUpperCase();
  const status = RECORDS[record]?.status ?? (`unknown(${recordStatus.toLowerCase()})` as const);
  if (agentState === null) return { status, waiting_for: null };
  const own = AGENT_STATES[agentState] ?? (`unknown(${agentState})` as const);
  // An agent that answers in text ends in this state.
  const ofAgent = agentState === 'awaiting_user_input' && answered ? 'finished' : own;
  const isEnd = ['STOPPED', 'ARCHIVED'].includes(record) && hasEnded(ofAgent);
  return record === 'RUNNING' || isEnd
    ? { status: ofAgent, waiting_for: WAITS_FOR[own] ?? null }
    : { status, waiting_for: null };
}

/** `STATUS$ERROR_X` → code `ERROR_X`; any other text has the code `error`. */
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
