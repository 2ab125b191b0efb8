/**
 * Settings as acs shows them: the flat names of V0 on every dialect, plus what a V1 server has beyond them under its
 * own dotted path (`agent_settings.llm.num_retries`).
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

export interface McpConfig {
  sse_servers?: { url: string; api_key?: string | null }[];
  shttp_servers?: { url: string; api_key?: string | null; timeout?: number }[];
  stdio_servers?: { name: string; command: string; args?: string[]; env?: Record<string, string> }[];
}

export interface SettingsSnapshot {
  /** False while the server has nothing stored; `values` then hold the defaults. */
  stored: boolean;
  /** By name; a secret is never here: see `secrets`. */
  values: Record<string, JsonValue>;
  /** Secret fields: set, not set, or `unknown` where the server does not report it. */
  secrets: Record<string, 'set' | 'unset' | 'unknown'>;
}

export interface SettingsChange {
  /** New values by name; secrets among them are sent as they are. */
  set: Record<string, JsonValue>;
  /** Names to unset: each gets null, an empty text or its default. */
  unset: string[];
  /** Write although a secret that cannot be read back would be lost. */
  allow_loss: 'refuse' | 'allow';
}

export interface SettingsField {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';
  nullable: boolean;
  secret: boolean;
  default: JsonValue;
  choices: string[] | null;
  minimum: number | null;
  maximum: number | null;
  description: string;
}
