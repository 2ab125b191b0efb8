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
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import type { AgentClient } from '../../agent-server/client.ts';
import { metricsOfState, type Metrics } from '../../agent-server/state.ts';
import type { Links } from '../../shared/links.ts';
import { searchAppEvents } from '../app-events.ts';

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
    { order: 'newest-first', limit: NEWEST_EVENTS },
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
