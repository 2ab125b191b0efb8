import type { Llm } from '../../../protocol/agent-server/requests.ts';
import type { CondensationStep, ModelUsage } from '../../base/steps.ts';
import { callModel } from './call.ts';
import type { Exchange } from './history.ts';
import { cut } from '../../../base/text/well-formed.ts';

/** Events that the history may hold; the value of genuine servers. */
export const LONGEST_HISTORY = 240;
const KEPT_FIRST = 1;
const LONGEST_RESULT = 2000;

const SYSTEM = [
  'You summarize the earlier part of the work of a software engineer, who goes on with your ' +
    'summary instead of it.',
  'Keep what is needed to go on: what the user wants, word for word where it matters; what ' +
    'is done and how it was checked; what',
  'is left; files and names; commands that work; errors that are open; the list of tasks ' +
    'with each status. Write plain notes.',
].join('\n');

export type Condensed = CondensationStep & { usage: ModelUsage };

/**
 * Replaces the older part of the history, at least `least` exchanges, with a summary. Null: nothing
 * could be forgotten. Throws as callModel.
 */
export async function condense(
  llm: Llm,
  exchanges: readonly Exchange[],
  least: 0 | 1,
  signal: AbortSignal,
): Promise<Condensed | null> {
  const candidates = exchanges.slice(KEPT_FIRST);
  const summaries = candidates.filter((exchange) => exchange.ids.length === 0).length;
  const half = Math.max(least, Math.floor((candidates.length - summaries) / 2));
  const forgotten = candidates.slice(0, summaries + half);
  const ids = forgotten.flatMap((exchange) => exchange.ids);
  if (ids.length === 0) return null;
  const text = forgotten.flatMap(({ messages }) =>
    messages.map((message) => cut(JSON.stringify(message), LONGEST_RESULT)),
  );
  const content = `${text.join('\n')}\n\nSummarize this.`;
  const request = {
    system: SYSTEM,
    messages: [{ role: 'user' as const, content }],
    tools: {},
    onText: null,
  };
  const answer = await callModel(llm, request, signal);
  return {
    type: 'condensation',
    forgotten_event_ids: ids,
    summary: answer.text,
    summary_offset: exchanges.slice(0, KEPT_FIRST).flatMap((exchange) => exchange.ids).length,
    response_id: answer.usage.response_id,
    usage: answer.usage,
  };
}
