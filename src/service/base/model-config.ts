/** The configuration of a conversation with a model, as its client sent it. */
import type { Llm } from '../../protocol/agent-server/requests.ts';

/** Stored with the conversation, readable by its owner alone: it holds the key. */
export interface ModelConfig {
  llm: Llm;
  /** The tools that the client names; null: all. */
  tools: string[] | null;
  /** Keys are names; values have the forms of `mcpServers` of openhands-sdk. */
  mcp_config: Record<string, unknown>;
  system_prompt: string;
  /** Whether `llm` was that of the settings. */
  of_settings?: boolean;
}

/** OpenAI-compatible interfaces by the provider that the name of a model begins with. */
const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  deepseek: 'https://api.deepseek.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  groq: 'https://api.groq.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  openai: 'https://api.openai.com/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  together_ai: 'https://api.together.xyz/v1',
  xai: 'https://api.x.ai/v1',
  hosted_vllm: 'http://127.0.0.1:8000/v1',
  lm_studio: 'http://127.0.0.1:1234/v1',
  ollama: 'http://127.0.0.1:11434/v1',
  ollama_chat: 'http://127.0.0.1:11434/v1',
};
/** These prefixes are not part of the name of the model where there is a base_url. */
const ROUTED = new Set([
  'openai',
  'openrouter',
  'litellm_proxy',
  'hosted_vllm',
  'lm_studio',
  'ollama',
  'ollama_chat',
]);

/** The URL of the endpoint and the name of the model there. Null: the URL is not known. */
export function endpointOf({ model, base_url }: Llm): { baseUrl: string; model: string } | null {
  const named = model?.trim() ?? '';
  const [, prefix = '', rest = ''] = /^([^/]+)\/(.+)$/.exec(named) ?? [];
  if (named === '') return null;
  if (base_url) {
    // Clients name the interface of ollama without its OpenAI-compatible part.
    const isBare = /^ollama(?:_chat)?$/.test(prefix) && /^https?:\/\/[^/]+\/?$/.test(base_url);
    const baseUrl = `${base_url.replace(/\/+$/, '')}${isBare ? '/v1' : ''}`;
    return { baseUrl, model: ROUTED.has(prefix) ? rest : named };
  }
  const known = PROVIDERS[prefix];
  if (known !== undefined) return { baseUrl: known, model: rest };
  return prefix === '' && /^(?:gpt|o\d|chatgpt)/.test(named)
    ? { baseUrl: PROVIDERS['openai'] ?? '', model: named }
    : null;
}

/** Another model with these settings; at another origin without their key and headers. */
export function withModel(llm: Llm, model: string): Llm {
  const other = { ...llm, model };
  const own = originOf(llm);
  return own === null || own === originOf(other)
    ? other
    : { ...other, api_key: null, extra_headers: null };
}

function originOf(llm: Llm): string | null {
  const { baseUrl = '' } = endpointOf(llm) ?? {};
  return URL.canParse(baseUrl) ? new URL(baseUrl).origin : null;
}

/** `own` with the key or address of `settings`, if both name the same model or endpoint. */
export function renewed(own: Llm, settings: Llm): Llm {
  if (own.model === settings.model) return settings;
  const url = endpointOf(own)?.baseUrl;
  if (url === undefined || url !== endpointOf(settings)?.baseUrl) return own;
  // The meaning of a name depends on the URL: both stay as they were.
  const { model, base_url } = own;
  return { ...settings, model, base_url };
}
