/** What is known of a model by its name; scripts/model-table.mjs writes the table. */
import type { Llm } from '../../protocol/agent-server/requests.ts';
import type { ModelUsage } from './steps.ts';

/** From a length of the prompt on, US dollars for a million tokens; null: as for input. */
type Prices = readonly [
  fromTokens: number,
  input: number,
  output: number,
  cacheRead: number | null,
  cacheWrite: number | null,
];

export interface KnownModel {
  context: number | null;
  longest_output: number | null;
  reasoning: boolean;
  /** By ascending length of the prompt. Empty: not known. */
  prices: readonly Prices[];
}

/** Sellers that charge the price of the maker, in the name of a model. */
const SELLERS = new Set([
  ...['openhands', 'litellm_proxy', 'openrouter', 'vercel_ai_gateway', 'azure', 'vertex_ai'],
  ...['openai', 'responses', 'anthropic', 'gemini', 'google', 'xai', 'x-ai'],
]);

/** Null: not known. */
export async function knownModel({ model, model_canonical_name }: Llm): Promise<KnownModel | null> {
  const { default: table } = await import('./known-models.json', { with: { type: 'json' } });
  const models = table.models as unknown as Record<string, unknown[]>;
  const parts = (model_canonical_name || model || '')
    .trim()
    .toLowerCase()
    .replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, '')
    .replaceAll('.', '-')
    .split('/');
  for (;;) {
    const name = parts.join('/');
    if (Object.hasOwn(models, name)) {
      const [context, longest_output, reasoning, prices] = models[name] ?? [];
      return { context, longest_output, reasoning, prices } as KnownModel;
    }
    const seller = parts.shift() ?? '';
    if (parts.length === 0 || !SELLERS.has(seller)) return null;
  }
}

/** Those of the settings, else the known ones. Null: not known. */
export async function pricesOf(llm: Llm): Promise<KnownModel['prices'] | null> {
  const { input_cost_per_token: input, output_cost_per_token: output } = llm;
  if (input != null && output != null) return [[0, input * 1e6, output * 1e6, null, null]];
  const { prices = [] } = (await knownModel(llm)) ?? {};
  return prices.length > 0 ? prices : null;
}

/** In US dollars; null without prices. `prompt_tokens` include those of the cache. */
export function costOf(
  prices: KnownModel['prices'] | null,
  usage: Omit<ModelUsage, 'cost' | 'response_id'>,
): number | null {
  const { prompt_tokens: prompt, cache_read_tokens: read, cache_write_tokens: write } = usage;
  const row = prices?.findLast(([from]) => prompt >= from);
  if (row === undefined) return null;
  const [, input, output, cacheRead, cacheWrite] = row;
  const cost =
    Math.max(0, prompt - read - write) * input +
    read * (cacheRead ?? input) +
    write * (cacheWrite ?? input) +
    usage.completion_tokens * output;
  return cost / 1e6;
}
