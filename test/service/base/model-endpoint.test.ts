import { expect, it } from 'vitest';
import { endpointHint, endpointOf } from '../../../src/service/base/model-endpoint.ts';

const OWN = 'https://models.example/v1';
const ANTHROPIC = 'https://api.anthropic.com/v1';
const GEMINI = 'https://generativelanguage.googleapis.com/v1beta';
const FIREWORKS = 'https://api.fireworks.ai/inference/v1';
const HUGGINGFACE = 'https://router.huggingface.co/v1';
const OPENAI = 'https://api.openai.com/v1';
const OPENHANDS = 'https://llm-proxy.app.all-hands.dev/v1';
const AZURE = 'https://own.openai.azure.com/openai/v1';
const DASHSCOPE = 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1';
const DEEPSEEK = 'https://api.deepseek.com';

it.each<[model: string, baseUrl: string, name: string]>([
  ['anthropic/claude-opus-4-5', ANTHROPIC, 'claude-opus-4-5'],
  ['claude-sonnet-4-5-20250929', ANTHROPIC, 'claude-sonnet-4-5-20250929'],
  ['gemini/gemini-2.5-pro', GEMINI, 'gemini-2.5-pro'],
  ['gemini-2.5-pro', GEMINI, 'gemini-2.5-pro'],
  ['gpt-5', OPENAI, 'gpt-5'],
  ['o3-mini', OPENAI, 'o3-mini'],
  ['openai/responses/gpt-5', OPENAI, 'gpt-5'],
  ['deepseek-chat', `${DEEPSEEK}/v1`, 'deepseek-chat'],
  ['openrouter/anthropic/claude', 'https://openrouter.ai/api/v1', 'anthropic/claude'],
  ['openhands/claude-sonnet-4-5', OPENHANDS, 'claude-sonnet-4-5'],
  ['groq/llama-3.3', 'https://api.groq.com/openai/v1', 'llama-3.3'],
  ['mistral/devstral', 'https://api.mistral.ai/v1', 'devstral'],
  ['codestral/codestral-latest', 'https://codestral.mistral.ai/v1', 'codestral-latest'],
  ['xai/grok-4', 'https://api.x.ai/v1', 'grok-4'],
  ['together_ai/qwen/q3', 'https://api.together.xyz/v1', 'qwen/q3'],
  ['moonshot/kimi-k2', 'https://api.moonshot.ai/v1', 'kimi-k2'],
  ['fireworks_ai/kimi-k2', FIREWORKS, 'accounts/fireworks/models/kimi-k2'],
  ['fireworks_ai/accounts/own/models/m', FIREWORKS, 'accounts/own/models/m'],
  ['cerebras/qwen-3', 'https://api.cerebras.ai/v1', 'qwen-3'],
  ['deepinfra/zai/glm', 'https://api.deepinfra.com/v1/openai', 'zai/glm'],
  ['huggingface/qwen/q3', HUGGINGFACE, 'qwen/q3'],
  ['huggingface/together/qwen/q3', HUGGINGFACE, 'qwen/q3:together'],
  ['nvidia_nim/meta/llama', 'https://integrate.api.nvidia.com/v1', 'meta/llama'],
  ['sambanova/deepseek', 'https://api.sambanova.ai/v1', 'deepseek'],
  ['zai/glm-4.6', 'https://api.z.ai/api/paas/v4', 'glm-4.6'],
  ['dashscope/qwen3', DASHSCOPE, 'qwen3'],
  ['minimax/m2', 'https://api.minimax.io/v1', 'm2'],
  ['github/openai/gpt-4.1', 'https://models.github.ai/inference', 'openai/gpt-4.1'],
  ['perplexity/sonar', 'https://api.perplexity.ai', 'sonar'],
  ['cohere/command-a', 'https://api.cohere.ai/compatibility/v1', 'command-a'],
  ['vercel_ai_gateway/openai/gpt-5', 'https://ai-gateway.vercel.sh/v1', 'openai/gpt-5'],
  ['ollama/qwen3:8b', 'http://127.0.0.1:11434/v1', 'qwen3:8b'],
  ['ollama_chat/qwen3:8b', 'http://127.0.0.1:11434/v1', 'qwen3:8b'],
  ['lm_studio/qwen', 'http://127.0.0.1:1234/v1', 'qwen'],
  ['hosted_vllm/qwen', 'http://127.0.0.1:8000/v1', 'qwen'],
  ['llamafile/llava', 'http://127.0.0.1:8080/v1', 'llava'],
])('the model %s without a URL is called at %s as %s', (model, baseUrl, name) => {
  expect(endpointOf({ model })).toMatchObject({ baseUrl, model: name });
});

it.each<[model: string, url: string, baseUrl: string, name: string]>([
  ['deepseek/deepseek-chat', DEEPSEEK, `${DEEPSEEK}/v1`, 'deepseek-chat'],
  ['deepseek/deepseek-chat', `${DEEPSEEK}/beta/`, `${DEEPSEEK}/beta`, 'deepseek-chat'],
  ['anthropic/claude-opus-4-5', 'https://api.anthropic.com/', ANTHROPIC, 'claude-opus-4-5'],
  ['claude-opus-4-5', 'https://api.anthropic.com', ANTHROPIC, 'claude-opus-4-5'],
  ['openhands/claude', 'https://llm-proxy.app.all-hands.dev/', OPENHANDS, 'claude'],
  ['azure/gpt-5', AZURE, AZURE, 'gpt-5'],
  [
    'anthropic/claude',
    'https://openrouter.ai/api/v1',
    'https://openrouter.ai/api/v1',
    'anthropic/claude',
  ],
  ['anthropic/claude', OWN, OWN, 'anthropic/claude'],
  ['openai/qwen', OWN, OWN, 'qwen'],
  ['litellm_proxy/claude', OWN, OWN, 'claude'],
  ['qwen/q3', OWN, OWN, 'qwen/q3'],
  ['ollama/qwen3', 'http://gpu.example:11434', 'http://gpu.example:11434/v1', 'qwen3'],
  ['own', 'http://gpu.example:11434', 'http://gpu.example:11434', 'own'],
  ['own', 'no url', 'no url', 'own'],
])('the model %s with the URL %s is called at %s as %s', (model, base_url, baseUrl, name) => {
  expect(endpointOf({ model, base_url })).toMatchObject({ baseUrl, model: name });
});

it.each<[llm: Parameters<typeof endpointOf>[0], api: string, baseUrl: string, name: string]>([
  [{ model: 'claude-opus-4-5' }, 'anthropic', ANTHROPIC, 'claude-opus-4-5'],
  [{ model: 'gemini/gemini-3-pro' }, 'google', GEMINI, 'gemini-3-pro'],
  [{ model: 'gpt-4o' }, 'responses', OPENAI, 'gpt-4o'],
  [{ model: 'openai/gpt-4o', base_url: `${OPENAI}/` }, 'responses', OPENAI, 'gpt-4o'],
  [{ model: 'openai/gpt-4o', base_url: OWN }, 'chat', OWN, 'gpt-4o'],
  [{ model: 'openai/responses/gpt-5', base_url: OWN }, 'responses', OWN, 'gpt-5'],
  [{ model: 'gpt-5', api_mode: 'chat' }, 'chat', OPENAI, 'gpt-5'],
  [{ model: 'azure/gpt-5', base_url: AZURE, api_mode: 'responses' }, 'responses', AZURE, 'gpt-5'],
  [{ model: 'anthropic/claude', base_url: OWN }, 'chat', OWN, 'anthropic/claude'],
  [
    { model: 'anthropic/glm-4.6', base_url: 'https://api.z.ai/api/anthropic' },
    'anthropic',
    'https://api.z.ai/api/anthropic/v1',
    'glm-4.6',
  ],
  [
    { model: 'gemini/gemini-3-pro', base_url: `${GEMINI}/openai` },
    'chat',
    `${GEMINI}/openai`,
    'gemini-3-pro',
  ],
  [
    { model: 'gemini/gemini-3-pro', base_url: `${OWN}beta` },
    'google',
    `${OWN}beta`,
    'gemini-3-pro',
  ],
  [
    { model: 'openrouter/anthropic/claude' },
    'chat',
    'https://openrouter.ai/api/v1',
    'anthropic/claude',
  ],
])('%j is called through the interface %s at %s as %s', (llm, api, baseUrl, name) => {
  expect(endpointOf(llm)).toEqual({ api, baseUrl, model: name });
});

it.each<[model: string, hint: string]>([
  ['azure/gpt-5', 'llm_base_url=https://<resource>.openai.azure.com/openai/v1'],
  ['bedrock/anthropic.claude', 'LiteLLM proxy'],
  ['vertex_ai/gemini-2.5-pro', 'LiteLLM proxy'],
  ['watsonx/granite', 'LiteLLM proxy'],
  ['replicate/meta/llama', 'LiteLLM proxy'],
  ['github_copilot/gpt-5', 'LiteLLM proxy'],
  ['databricks/dbrx', 'llm_base_url=https://<workspace>/serving-endpoints'],
  ['litellm_proxy/claude', 'the URL of the proxy'],
])('the model %s needs a URL, and the hint contains: %s', (model, hint) => {
  expect(endpointOf({ model })).toBeNull();
  expect(endpointHint(model)).toContain(hint);
});

it.each(['small', 'constructor/model', ' '])('nothing is known of the model "%s"', (model) => {
  expect(endpointOf({ model })).toBeNull();
  expect(endpointHint(model)).toBeNull();
});
