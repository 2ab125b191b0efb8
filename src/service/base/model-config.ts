/** The configuration of a conversation with a model, as its client sent it. */
import type { Condenser, Llm } from '../../protocol/agent-server/requests.ts';
import { endpointOf } from './model-endpoint.ts';

export interface Skill {
  name: string;
  triggers: string[];
  text: string;
}

/** Stored with the conversation, readable by its owner alone: it holds the key. */
export interface ModelConfig {
  llm: Llm;
  /** The tools that the client names; null: all. */
  tools: string[] | null;
  /** Keys are names; values have the forms of `mcpServers` of openhands-sdk. */
  mcp_config: Record<string, unknown>;
  system_prompt: string;
  /** Those that words of a message add. */
  skills?: Skill[];
  condenser?: Condenser | null | undefined;
  /** Whether `llm` was that of the settings. */
  of_settings?: boolean;
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
