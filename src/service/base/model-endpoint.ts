/** Where a model is called. Names have the forms of LiteLLM, as users of OpenHands write them. */
import type { Llm } from '../../protocol/agent-server/requests.ts';

/** `chat`: OpenAI-compatible; the others are those of OpenAI, Anthropic and Google. */
export type Api = 'chat' | 'responses' | 'anthropic' | 'google';

export interface Endpoint {
  api: Api;
  baseUrl: string;
  /** The name of the model there. */
  model: string;
}

/** Interfaces by URL; all others are OpenAI-compatible. */
const APIS: readonly [RegExp, Api][] = [
  [/^https?:\/\/api\.anthropic\.com\/|\/anthropic\/v1$/, 'anthropic'],
  [/^https?:\/\/api\.openai\.com\//, 'responses'],
  [/\/v1beta$/, 'google'],
];

/** Interfaces by `api_mode`; by default the URL decides. */
const OF_MODE = new Map<unknown, Api>([
  ['chat', 'chat'],
  ['responses', 'responses'],
]);

/** URLs by the provider that the name of a model begins with. */
const URLS = new Map<string | undefined, string>([
  ['anthropic', 'https://api.anthropic.com/v1'],
  ['cerebras', 'https://api.cerebras.ai/v1'],
  ['codestral', 'https://codestral.mistral.ai/v1'],
  ['cohere', 'https://api.cohere.ai/compatibility/v1'],
  ['dashscope', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1'],
  ['deepinfra', 'https://api.deepinfra.com/v1/openai'],
  ['deepseek', 'https://api.deepseek.com/v1'],
  ['fireworks_ai', 'https://api.fireworks.ai/inference/v1'],
  ['gemini', 'https://generativelanguage.googleapis.com/v1beta'],
  ['github', 'https://models.github.ai/inference'],
  ['groq', 'https://api.groq.com/openai/v1'],
  ['huggingface', 'https://router.huggingface.co/v1'],
  ['minimax', 'https://api.minimax.io/v1'],
  ['mistral', 'https://api.mistral.ai/v1'],
  ['moonshot', 'https://api.moonshot.ai/v1'],
  ['nvidia_nim', 'https://integrate.api.nvidia.com/v1'],
  ['openai', 'https://api.openai.com/v1'],
  ['openhands', 'https://llm-proxy.app.all-hands.dev/v1'],
  ['openrouter', 'https://openrouter.ai/api/v1'],
  ['perplexity', 'https://api.perplexity.ai'],
  ['sambanova', 'https://api.sambanova.ai/v1'],
  ['together_ai', 'https://api.together.xyz/v1'],
  ['vercel_ai_gateway', 'https://ai-gateway.vercel.sh/v1'],
  ['xai', 'https://api.x.ai/v1'],
  ['zai', 'https://api.z.ai/api/paas/v4'],
  ['hosted_vllm', 'http://127.0.0.1:8000/v1'],
  ['llamafile', 'http://127.0.0.1:8080/v1'],
  ['lm_studio', 'http://127.0.0.1:1234/v1'],
  ['ollama', 'http://127.0.0.1:11434/v1'],
  ['ollama_chat', 'http://127.0.0.1:11434/v1'],
]);

/** Providers of names without a prefix. */
const OF_NAME: readonly [RegExp, string][] = [
  [/^(?:gpt|o\d|chatgpt)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'gemini'],
  [/^deepseek-/, 'deepseek'],
];

/** These prefixes are not part of the name of the model at any base_url. */
const ROUTED = new Set([
  'openai',
  'openrouter',
  'litellm_proxy',
  'hosted_vllm',
  'llamafile',
  'lm_studio',
  'ollama',
  'ollama_chat',
]);

/** Names that the provider has in another form than LiteLLM. */
const NAMES = new Map<string, (name: string) => string>([
  ['openai', (name) => name.replace(/^responses\//, '')],
  ['fireworks_ai', (name) => name.replace(/^(?!accounts\/)/, 'accounts/fireworks/models/')],
  ['huggingface', (name) => name.replace(/^([^/]+)\/([^/]+\/.+)$/, '$2:$1')],
]);

const PROXY =
  'acs calls it through a LiteLLM proxy: acs settings set llm_model=litellm_proxy/<name> ' +
  'llm_base_url=<URL of the proxy>.';

/** Providers whose URL is that of a customer, or whose interface is not OpenAI-compatible. */
const SET_UP = new Map([
  ['azure', 'Set its URL: llm_base_url=https://<resource>.openai.azure.com/openai/v1.'],
  ['databricks', 'Set its URL: llm_base_url=https://<workspace>/serving-endpoints.'],
  ['litellm_proxy', 'Set the URL of the proxy: acs settings set llm_base_url=<url>.'],
  ['bedrock', PROXY],
  ['github_copilot', PROXY],
  ['replicate', PROXY],
  ['sagemaker', PROXY],
  ['vertex_ai', PROXY],
  ['watsonx', PROXY],
]);

/** Null: the URL is not known. */
export function endpointOf({ model, base_url, api_mode }: Llm): Endpoint | null {
  const name = model?.trim();
  if (!name) return null;
  const [prefix, rest] = split(name);
  const provider = prefix || OF_NAME.find(([pattern]) => pattern.test(name))?.[1];
  const own = URLS.get(provider);
  const baseUrl = base_url ? completed(base_url, prefix) : own;
  if (baseUrl === undefined) return null;
  const isStripped = ROUTED.has(prefix) || isOf(prefix, baseUrl);
  const mode = name.startsWith('openai/responses/') ? 'responses' : api_mode;
  return {
    api: OF_MODE.get(mode) ?? apiOf(baseUrl),
    baseUrl,
    model: isStripped ? (NAMES.get(prefix)?.(rest) ?? rest) : name,
  };
}

function apiOf(url: string): Api {
  return APIS.find(([pattern]) => pattern.test(url))?.[1] ?? 'chat';
}

/** What to set for a provider that has no URL here. */
export function endpointHint(model: string): string | null {
  return SET_UP.get(split(model)[0]) ?? null;
}

function split(name: string): [prefix: string, rest: string] {
  const [, prefix = '', rest = name] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  return [prefix, rest];
}

/** A provider is often named without the path of its interface. */
function completed(url: string, prefix: string): string {
  const trimmed = url.replace(/\/+$/, '');
  if (trimmed.endsWith('/anthropic')) return `${trimmed}/v1`;
  if (!/^https?:\/\/[^/]+$/.test(trimmed)) return trimmed;
  if (/^ollama(?:_chat)?$/.test(prefix)) return `${trimmed}/v1`;
  return [...URLS.values()].find((own) => hostOf(own) === hostOf(trimmed)) ?? trimmed;
}

function isOf(prefix: string, url: string): boolean {
  const own = URLS.get(prefix);
  if (own === undefined) return prefix === 'azure' && /\.azure\.com$/.test(hostOf(url));
  const api = apiOf(own);
  return hostOf(own) === hostOf(url) || (api !== 'chat' && api === apiOf(url));
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
