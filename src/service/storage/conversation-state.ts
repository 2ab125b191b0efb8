import type { EXECUTION_STATUSES } from '../../protocol/agent-server/requests.ts';
import type { ModelUsage } from '../base/steps.ts';

export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** `timestamp`: naive, UTC, microseconds, strictly increasing in a log. Null is left out. */
export interface StoredEvent {
  id: string;
  timestamp: string;
  source: string;
  kind: string;
  [member: string]: unknown;
}

export function messageText({ llm_message }: StoredEvent): string {
  const { content = [] } = llm_message as { content?: { text?: string }[] };
  return content.map(({ text = '' }) => text).join('');
}

/** The text of an answer of the agent; null: the event is none. */
export function answerIn(event: StoredEvent): string | null {
  const { kind, source, action } = event;
  if (kind === 'MessageEvent' && source === 'agent') return messageText(event);
  const { kind: name, message = '' } = Object(action) as { kind?: string; message?: string };
  return kind === 'ActionEvent' && name === 'FinishAction' ? message : null;
}

/** `accumulated_cost` in US dollars; null: the price is unknown. */
export interface Metrics {
  model_name: string;
  accumulated_cost: number | null;
  max_budget_per_task: number | null;
  accumulated_token_usage: {
    model: string;
    prompt_tokens: number;
    completion_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    reasoning_tokens: number;
    context_window: number;
    per_turn_token: number;
    response_id: string;
  };
}

export function noMetrics(model: string): Metrics {
  return {
    model_name: model,
    accumulated_cost: 0,
    max_budget_per_task: null,
    accumulated_token_usage: {
      model,
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
}

/** Genuine servers send a number also for an unknown cost; `local_cost_unknown` is ours. */
export function shownMetrics({ accumulated_cost: cost, ...metrics }: Metrics) {
  return {
    ...metrics,
    accumulated_cost: cost ?? 0,
    ...(cost === null ? { local_cost_unknown: true } : {}),
  };
}

export function addUsage(metrics: Metrics, usage: ModelUsage): Metrics {
  const { cost, response_id, ...tokens } = usage;
  const before = metrics.accumulated_token_usage;
  const sums = Object.entries(tokens).map(([name, count]) => [
    name,
    before[name as keyof typeof tokens] + count,
  ]);
  const accumulated = { ...before, ...(Object.fromEntries(sums) as typeof tokens), response_id };
  return {
    ...metrics,
    accumulated_cost:
      cost === null || metrics.accumulated_cost === null ? null : metrics.accumulated_cost + cost,
    accumulated_token_usage: {
      ...accumulated,
      per_turn_token: tokens.prompt_tokens + tokens.completion_tokens,
    },
  };
}

export type ConfirmationPolicy =
  | { kind: 'NeverConfirm' }
  | { kind: 'AlwaysConfirm' }
  | {
      kind: 'ConfirmRisky';
      threshold: 'LOW' | 'MEDIUM' | 'HIGH' | 'UNKNOWN';
      confirm_unknown: boolean;
    };

export interface ConversationState {
  conversation_id: string;
  execution_status: ExecutionStatus;
  title: string | null;
  created_at: string;
  updated_at: string;
  working_dir: string;
  max_iterations: number;
  confirmation_policy: ConfirmationPolicy;
  security_analyzer: { kind: string } | null;
  model: string;
  metrics: Metrics;
  last_user_message_id: string | null;
  /** Steps of the agent that were observed, were rejected or are a message. */
  steps_done: number;
  /** The id of an ActionEvent without observation: it awaits approval, or was cut off. */
  pending_action_id: string | null;
  tags: Record<string, string>;
  /** The source of a fork (its id with dashes), and the last copied event if it was named. */
  forked_from?: { conversation_id: string; event_id: string | null };
}
