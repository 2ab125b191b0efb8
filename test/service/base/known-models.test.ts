import { expect, it } from 'vitest';
import { costOf, knownModel, pricesOf } from '../../../src/service/base/known-models.ts';
import type { Llm } from '../../../src/protocol/agent-server/requests.ts';

const USAGE = {
  prompt_tokens: 1_000_000,
  completion_tokens: 100_000,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
};
const costs = async (llm: Llm, usage: object = {}) =>
  costOf(await pricesOf(llm), { ...USAGE, ...usage });

it.each([
  'claude-sonnet-4-5',
  'claude-sonnet-4-5-20250929',
  'anthropic/claude-sonnet-4-5-20250929',
  'openhands/claude-sonnet-4-5',
  'litellm_proxy/claude-sonnet-4-5',
  'openrouter/anthropic/claude-sonnet-4.5',
  'gpt-5',
  'openai/gpt-5-2025-08-07',
  'openai/responses/gpt-5',
  'azure/gpt-5',
  'gemini/gemini-2.5-pro',
  'gemini-2.5-pro',
  'deepseek-chat',
  'deepseek/deepseek-chat',
  'xai/grok-4.5',
  'mistral/codestral-latest',
  'moonshot/kimi-k2.5',
  'zai/glm-5',
  'minimax/MiniMax-M2',
  'dashscope/qwen3-coder-plus',
  'groq/openai/gpt-oss-120b',
  'cerebras/gpt-oss-120b',
  'together_ai/zai-org/GLM-4.6',
  'fireworks_ai/glm-5p1',
])('the context and the price of %s are known', async (model) => {
  const { context, prices } = (await knownModel({ model })) ?? {};
  expect(context).toBeGreaterThan(30_000);
  expect(prices?.length).toBeGreaterThan(0);
});

it.each([
  '',
  'qwen3:8b',
  'ollama/gpt-5',
  'hosted_vllm/claude-sonnet-4-5',
  'constructor',
  'a/__proto__',
])('nothing is known of %j, and its cost is null', async (model) => {
  expect(await knownModel({ model })).toBeNull();
  expect(await costs({ model })).toBeNull();
});

it('a name under which the abilities of a model are known leads to its price', async () => {
  expect(await costs({ model: 'mine', model_canonical_name: 'claude-sonnet-4-5' })).toBe(4.5);
});

it.each<[what: string, model: string, usage: object, cost: number]>([
  ['input and output', 'claude-sonnet-4-5', {}, 3 + 1.5],
  [
    'what the cache read and wrote, at its price',
    'claude-sonnet-4-5',
    { cache_read_tokens: 600_000, cache_write_tokens: 200_000 },
    0.2 * 3 + 0.6 * 0.3 + 0.2 * 3.75 + 1.5,
  ],
  ['more than a length', 'gemini-2.5-pro', {}, 2.5 + 1.5],
  ['less than that length', 'gemini-2.5-pro', { prompt_tokens: 100_000 }, 0.125 + 1],
  [
    'more of the cache than of the prompt',
    'claude-sonnet-4-5',
    { prompt_tokens: 0, completion_tokens: 0, cache_read_tokens: 1000 },
    0.0003,
  ],
])('the cost has %s', async (_what, model, usage, cost) => {
  expect(await costs({ model }, usage)).toBeCloseTo(cost, 10);
});

it('prices of the settings are used in place of known ones, when there are both', async () => {
  const model = 'claude-sonnet-4-5';
  const typed = { model, input_cost_per_token: 1e-6, output_cost_per_token: 0 };
  expect(await costs(typed)).toBeCloseTo(1, 10);
  expect(await costs({ ...typed, output_cost_per_token: null })).toBeCloseTo(4.5, 10);
});
