import { expect, it } from 'vitest';
import { ollamaContext, ollamaUrl } from '../../src/protocol/ollama.ts';

const LOADED = { models: [{ name: 'qwen3:8b' }, { name: 'small:latest', context_length: 4096 }] };
const SHOWN = {
  parameters: 'stop    "<|im_end|>"\nnum_ctx                        8192\ntemperature 0.6',
  model_info: { 'qwen3.context_length': 40_960 },
};

it.each<[what: string, ps: unknown, show: unknown, model: string, tokens: number | null]>([
  ['a loaded model', LOADED, SHOWN, 'small', 4096],
  ['a loaded model by its whole name', LOADED, {}, 'small:latest', 4096],
  ['a model that is loaded by an older Ollama', LOADED, SHOWN, 'qwen3:8b', 8192],
  ['a model with a setting of its own', { models: [] }, SHOWN, 'other', 8192],
  ['a model with the default of Ollama', { models: [] }, { parameters: 'top_k 3' }, 'other', null],
  ['answers of another server', 'no', null, 'other', null],
  ['a context that is no number', { models: [{ name: 'a', context_length: '9' }] }, {}, 'a', null],
  ['a negative context', { models: [{ name: 'a', context_length: -1 }] }, {}, 'a', null],
])('the context is read of %s', (_what, ps, show, model, tokens) => {
  expect(ollamaContext(ps, show, model)).toBe(tokens);
});

it.each([
  ['ollama/qwen3', 'http://box:8080/v1', 'http://box:8080'],
  ['qwen3', 'http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434'],
  ['qwen3', 'http://127.0.0.1:8080/v1', null],
  ['qwen3', 'not a url', null],
])('%s at %s has the URL of Ollama %s', (model, url, ollama) => {
  expect(ollamaUrl(model, url)).toBe(ollama);
});
