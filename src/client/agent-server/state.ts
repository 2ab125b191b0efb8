import {
  NO_STATUS,
  roundedUsd,
  type Conversation,
  type ConversationStatus,
  type RunState,
} from '../../domain/conversation.ts';
import { isRecord, member } from '../../protocol/shape.ts';

/** Interface 7.4. */
const RUNS: Readonly<Record<string, ConversationStatus>> = {
  idle: 'idle',
  running: 'running',
  paused: 'paused',
  finished: 'finished',
  stuck: 'stuck',
  waiting_for_confirmation: 'waiting',
  error: 'failed',
  deleting: 'deleting',
};

/** @param executionStatus empty: the server reports none */
export function runStateOf(executionStatus: string): RunState {
  const name = executionStatus.toLowerCase();
  const status = RUNS[name] ?? (name === '' ? NO_STATUS : (`unknown(${name})` as const));
  return { status, waiting_for: WAITS_FOR[status] ?? null };
}

export const WAITS_FOR: Readonly<Record<string, RunState['waiting_for']>> = {
  idle: 'user',
  waiting: 'confirmation',
};

export type Metrics = Pick<Conversation, 'cost_usd' | 'tokens'>;

/** Null where the statistics are missing or have another form. */
export function metricsOfState(state: unknown): Metrics | null {
  const uses = member(state, 'stats', 'usage_to_metrics');
  if (!isRecord(uses)) return null;
  const sum = (...path: string[]) =>
    Object.values(uses).reduce<number | null>((total, use) => {
      const value = member(use, ...path);
      return total === null || typeof value !== 'number' ? null : total + value;
    }, 0);
  const input = sum('accumulated_token_usage', 'prompt_tokens');
  const output = sum('accumulated_token_usage', 'completion_tokens');
  const isKnown = Object.values(uses).every((use) => member(use, 'local_cost_unknown') !== true);
  const cost = isKnown ? sum('accumulated_cost') : null;
  return {
    cost_usd: cost === null ? null : roundedUsd(cost),
    tokens: input === null || output === null ? null : { input, output },
  };
}
