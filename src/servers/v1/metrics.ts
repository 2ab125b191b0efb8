/**
 * `cost_usd` and `tokens` of a V1 conversation. They are given when they are at least as new as the last event of the
 * run, else null; the two count over the whole conversation and all models it used.
 *
 * - The record of the app server gives none. The app server writes it from events that arrive up to 30 s after they
 *   happened, and `updated_at` does not date it: 1.11.0 returns `finished` records with an `updated_at` later than the
 *   last event and the metrics of before it, 1.6.0 keeps 0 for a run that was shorter than its buffer. A list reads
 *   records alone, so both are null there.
 * - While the sandbox runs, its own record counts every answer of a model at once. It is read once the run does not go
 *   on. The newest `stats` event is no substitute: it is stored after the event that ends the run.
 * - When the sandbox does not run, the app server's copy of the events has a snapshot of the state (`full_state`), which
 *   every release writes behind the last event of a run. An event of the agent behind the newest snapshot makes it old.
 */
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { AgentClient } from '../agent-server/client.ts';
import type { Links } from '../links.ts';
import { searchAppEvents } from './calls.ts';

type Metrics = Pick<Conversation, 'cost_usd' | 'tokens'>;

/** A snapshot is followed by what the user did after the run, if by anything. */
const NEWEST_EVENTS = 10;

/**
 * The metrics of a conversation whose run does not go on; null where they are not known.
 * @param agent the sandbox's agent server; null: it is not to be asked
 */
export async function metricsAfterRun(
  links: Links,
  { id, sandbox_status }: AppConversationRecord,
  agent: AgentClient | null,
): Promise<Metrics | null> {
  if (sandbox_status === 'RUNNING') return agent && metricsOfState((await agent.conversation()).payload);
  const { items } = await searchAppEvents(links, id, { order: 'TIMESTAMP_DESC', limit: NEWEST_EVENTS }, null);
  const newest = items.find((event) => isSnapshot(event) || event.source === 'agent');
  return newest !== undefined && isSnapshot(newest) ? metricsOfState(newest.payload['value']) : null;
}

function isSnapshot({ kind, payload }: EventRecord): boolean {
  return kind === 'ConversationStateUpdateEvent' && payload['key'] === 'full_state';
}

/** The sums over all uses of models; null where the state has no statistics, or not in the known form. */
function metricsOfState(state: unknown): Metrics | null {
  const uses = isRecord(state) && isRecord(state['stats']) ? state['stats']['usage_to_metrics'] : null;
  if (!isRecord(uses)) return null;
  const cost = sum(Object.values(uses), 'accumulated_cost');
  const usages = Object.values(uses).map((use) => isRecord(use) && use['accumulated_token_usage']);
  const [input, output] = [sum(usages, 'prompt_tokens'), sum(usages, 'completion_tokens')];
  return { cost_usd: cost, tokens: input === null || output === null ? null : { input, output } };
}

/** Null where one lacks the number. */
function sum(records: readonly unknown[], name: string): number | null {
  let total = 0;
  for (const record of records) {
    const value = isRecord(record) ? record[name] : null;
    if (typeof value !== 'number') return null;
    total += value;
  }
  return total;
}
