/** From V0's records to the domain's. */
import type { WebUrl } from '../links.ts';
import type { Conversation, SandboxStatus } from '../../domain/conversation.ts';
import type { ConversationEvent, RunSignal } from '../../domain/event.ts';
import { eventTextV0 } from '../../domain/event-text.ts';
import { reasonOfStateV0, runStateV0, type RunFactsV0 } from './run-status.ts';
import type { ConversationInfo, EventRecordV0 } from '../../protocol/v0/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import { normalizeTime } from '../../text/time.ts';
import { normalId } from '../ids.ts';
import type { Redaction } from '../transport/redaction.ts';

/** What the events of a run show and its record does not (interface 3.4). */
export interface RunNews {
  agentState: string | null;
  reason: string;
  answered: RunFactsV0['answered'];
  cost: number | null;
  tokens: { input: number; output: number } | null;
}

const NO_NEWS: RunNews = { agentState: null, reason: '', answered: 'unknown', cost: null, tokens: null };

/** What the record alone shows: the state of the agent, where the server has that member. */
export function newsOfRecord({ local_agent_state: agentState }: ConversationInfo): RunNews {
  return { ...NO_NEWS, agentState };
}

/** As servers show sandboxes of V1 in the V0 list (interface 3.2). */
const SANDBOX: Record<string, SandboxStatus> = {
  STARTING: 'starting',
  RUNNING: 'running',
  STOPPED: 'paused',
  ERROR: 'error',
  ARCHIVED: 'missing',
};

export function toConversationV0(info: ConversationInfo, news: RunNews, webUrl: WebUrl): Conversation {
  const id = normalId(info.conversation_id);
  const { status, waiting_for } = runStateV0({
    status: info.status,
    agentState: news.agentState,
    answered: news.answered,
  });
  const fromRuntime = info.runtime_status !== null && /ERROR/.test(info.runtime_status) ? info.runtime_status : '';
  return {
    id,
    start_task_id: null,
    title: info.title,
    status,
    reason: reasonOfStateV0(status, news.agentState, news.reason || fromRuntime),
    waiting_for,
    dialect: 'v0',
    execution_status: null,
    // Only the local service names one; elsewhere conversations are paused and resumed in the same way.
    sandbox_id: info.local_sandbox_id,
    sandbox_status: SANDBOX[info.status.toUpperCase()] ?? null,
    repository: info.selected_repository,
    branch: info.selected_branch,
    git_provider: info.git_provider,
    model: null,
    created_at: normalizeTime(info.created_at),
    updated_at: normalizeTime(info.last_updated_at),
    cost_usd: news.cost,
    tokens: news.tokens,
    url: webUrl(id),
  };
}

export function toEventV0(record: EventRecordV0, conversationId: string, redaction: Redaction): ConversationEvent {
  const payload = redaction.part(record.payload);
  const kind = kindOf(record);
  const text = eventTextV0(record.action, record.observation, payload);
  const event: ConversationEvent = {
    type: 'event',
    id: String(record.id),
    conversation_id: conversationId,
    timestamp: normalizeTime(record.timestamp),
    source: record.source,
    kind,
    text,
    payload,
    signal: signalOf(record),
  };
  return redaction.mark(event, [conversationId, record.source ?? '', kind, text]);
}

/** The states of an agent (interface 3.4) that say more about a run than that it does not proceed. */
const STATE_SIGNALS: Readonly<Record<string, RunSignal>> = {
  running: 'status:running',
  loading: 'status:starting',
  user_rejected: 'status:rejected',
  awaiting_user_input: 'status:awaiting-user',
};

function signalOf(record: EventRecordV0): RunSignal | null {
  if (isUserMessage(record)) return 'message';
  const state = agentStateOf(record)?.state.toLowerCase();
  if (state !== undefined) return STATE_SIGNALS[state] ?? 'status:other';
  // The source of this observation is the agent.
  if (record.observation === 'user_rejected') return 'rejection';
  return record.source === 'agent' ? 'activity' : null;
}

export function kindOf(record: EventRecordV0): string {
  if (record.action !== null) return `action:${record.action}`;
  return record.observation === null ? 'unknown' : `observation:${record.observation}`;
}

/** The agent state in an event, with its reason; else null. */
export function agentStateOf(record: EventRecordV0): { state: string; reason: string } | null {
  const extras = record.payload['extras'];
  if (record.observation !== 'agent_state_changed' || !isRecord(extras) || typeof extras['agent_state'] !== 'string')
    return null;
  return { state: extras['agent_state'], reason: typeof extras['reason'] === 'string' ? extras['reason'] : '' };
}

/** The text of the agent for the user in an event: a message, or its final answer. */
export function answerOfV0(record: EventRecordV0): string | null {
  if (record.source !== 'agent') return null;
  const args = isRecord(record.payload['args']) ? record.payload['args'] : {};
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  if (record.action === 'message') return text(args['content']);
  if (record.action === 'finish') return text(args['final_thought']) ?? text(record.payload['message']);
  return null;
}

export function isUserMessage(record: EventRecordV0): boolean {
  return record.action === 'message' && record.source === 'user';
}

export function costOf(record: EventRecordV0): Pick<RunNews, 'cost' | 'tokens'> | null {
  const metrics = record.payload['llm_metrics'];
  if (!isRecord(metrics) || typeof metrics['accumulated_cost'] !== 'number') return null;
  const usage = isRecord(metrics['accumulated_token_usage']) ? metrics['accumulated_token_usage'] : {};
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const tokens = typeof input === 'number' && typeof output === 'number' ? { input, output } : null;
  return { cost: metrics['accumulated_cost'], tokens };
}
