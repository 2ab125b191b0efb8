import type { ModelConfig } from '../../base/model-config.ts';
import type { CondensationStep, ModelUsage } from '../../base/steps.ts';
import { askForText } from './call.ts';
import type { Exchange } from './history.ts';
import { cut } from '../../../base/text/well-formed.ts';

/** The values of genuine servers. */
const LONGEST_HISTORY = 240;
const KEPT_FIRST = 2;
/** About the average of English text and code. */
export const CHARACTERS_OF_TOKEN = 4;
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

export type CondenserConfig = Pick<ModelConfig, 'llm' | 'condenser'>;

export function isCondenserOff({ condenser }: CondenserConfig): boolean {
  return condenser?.enabled === false || condenser?.kind === 'NoOpCondenser';
}

/** `tokens`: for the history. */
export function isLong(
  config: CondenserConfig,
  exchanges: readonly Exchange[],
  tokens: number,
): boolean {
  if (isCondenserOff(config)) return false;
  const { max_size, max_tokens } = config.condenser ?? {};
  if (exchanges.flatMap(({ ids }) => ids).length > (max_size ?? LONGEST_HISTORY)) return true;
  const limit = Math.min(config.llm.max_input_tokens ?? Infinity, max_tokens ?? Infinity, tokens);
  if (limit === Infinity) return false;
  const text = JSON.stringify(exchanges, withoutBytes);
  return text.length > limit * CHARACTERS_OF_TOKEN;
}

/** Images, and the signatures of reasoning. */
function withoutBytes(key: string, value: unknown): unknown {
  return key === 'image' || key === 'providerOptions' ? '' : value;
}

/** How many exchanges hold the first events, of which genuine servers count the system prompt. */
function keptFirst(exchanges: readonly Exchange[], events: number): number {
  let count = 1;
  const end = exchanges.findIndex(({ ids }) => ids.length === 0 || (count += ids.length) > events);
  return end < 0 ? exchanges.length : end;
}

/** Summarizes at least the `least` oldest exchanges; null: not possible. Throws as callModel. */
export async function condense(
  { llm, condenser }: CondenserConfig,
  exchanges: readonly Exchange[],
  least: 0 | 1,
  signal: AbortSignal,
): Promise<Condensed | null> {
  const kept = keptFirst(exchanges, condenser?.keep_first ?? KEPT_FIRST);
  const candidates = exchanges.slice(kept);
  const summaries = candidates.filter((exchange) => exchange.ids.length === 0).length;
  const half = Math.max(least, Math.floor((candidates.length - summaries) / 2));
  const forgotten = candidates.slice(0, summaries + half);
  const ids = forgotten.flatMap((exchange) => exchange.ids);
  if (ids.length === 0) return null;
  const text = forgotten.flatMap(({ messages }) =>
    messages.map((message) => cut(JSON.stringify(message, withoutBytes), LONGEST_RESULT)),
  );
  const content = `${text.join('\n')}\n\nSummarize this.`;
  const request = {
    system: SYSTEM,
    messages: [{ role: 'user' as const, content }],
    tools: {},
  };
  const answer = await askForText(condenser?.llm ?? llm, request, signal);
  return {
    type: 'condensation',
    forgotten_event_ids: ids,
    summary: answer.text,
    summary_offset: exchanges.slice(0, kept).flatMap((exchange) => exchange.ids).length,
    response_id: answer.usage.response_id,
    usage: answer.usage,
  };
}
