/**
 * Reads the cost and the tokens of a conversation from its sandbox or from the newest snapshot of
 * the state, and returns null where they may be older than the last event of the run. They count
 * over the whole conversation and all models.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv show` and the outcome of `conv wait` have a cost of before the end of the run:
 *           the app server writes metrics up to 30 s late, `updated_at` does not date them, and
 *           1.6.0 keeps 0 for a short run.
 * Evidence: interface 4.3; test/client/quirks/late-metrics.test.ts
 * Cost:     1 request for each conversation that is shown after its run; none in lists, where both
 *           values are null
 * Remove:   unknown
 */
import { roundedUsd, type Conversation } from '../../../domain/conversation.ts';
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { AgentClient } from '../../agent-server/client.ts';
import type { Links } from '../../shared/links.ts';
import { searchAppEvents } from '../calls.ts';

type Metrics = Pick<Conversation, 'cost_usd' | 'tokens'>;

const NEWEST_EVENTS = 10;
const KEYS = ['full_state', 'stats'];

export async function metricsAfterRun(
  links: Links,
  { id, sandbox_status }: AppConversationRecord,
  agent: AgentClient | null,
): Promise<Metrics | null> {
  if (sandbox_status === 'RUNNING')
    return agent && metricsOfState((await agent.conversation()).payload);
  const { items } = await searchAppEvents(
    links,
    id,
    { order: 'TIMESTAMP_DESC', limit: NEWEST_EVENTS },
    null,
  );
  const at = items.findIndex(
    ({ kind, payload }) =>
      kind === 'ConversationStateUpdateEvent' && KEYS.includes(String(payload['key'])),
  );
  const { key, value } = items[at]?.payload ?? {};
  const later = items.slice(0, at).filter(({ source }) => source === 'agent');
  const answers = new Set(later.map(({ payload }) => payload['llm_response_id']));
  // 1.11.0 and the local service write the statistics of an answer before its events.
  if (answers.size > (key === 'stats' ? 1 : 0)) return null;
  return metricsOfState(key === 'stats' ? { stats: value } : value);
}

/** Null where the statistics are missing or have another form. */
function metricsOfState(state: unknown): Metrics | null {
  const uses =
    isRecord(state) && isRecord(state['stats']) ? state['stats']['usage_to_metrics'] : null;
  if (!isRecord(uses)) return null;
  const sum = (records: readonly unknown[], name: string) =>
    records.reduce<number | null>((total, record) => {
      const value = isRecord(record) && record['local_cost_unknown'] !== true ? record[name] : null;
      return total === null || typeof value !== 'number' ? null : total + value;
    }, 0);
  const usages = Object.values(uses).map((use) => isRecord(use) && use['accumulated_token_usage']);
  const [input, output] = [sum(usages, 'prompt_tokens'), sum(usages, 'completion_tokens')];
  const cost = sum(Object.values(uses), 'accumulated_cost');
  return {
    cost_usd: cost === null ? null : roundedUsd(cost),
    tokens: input === null || output === null ? null : { input, output },
  };
}
