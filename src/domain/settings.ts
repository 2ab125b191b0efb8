import type { JsonObject, JsonValue, Setting } from '../protocol/settings.ts';

export { isJsonObject, type JsonObject, type JsonValue } from '../protocol/settings.ts';

export interface McpConfig {
  sse_servers?: { url: string; api_key?: string | null }[];
  shttp_servers?: { url: string; api_key?: string | null; timeout?: number }[];
  stdio_servers?: {
    name: string;
    command: string;
    args?: string[];
    env?: Record<string, string>;
  }[];
  /** The form of V1 and of agent servers: servers by name. */
  mcpServers?: JsonObject;
}

export interface SettingsSnapshot {
  /** Keys are names, defaults included; a secret is never here: see `secrets`. */
  values: Record<string, JsonValue>;
  /** `unknown` where the server does not report it. */
  secrets: Record<string, 'set' | 'unset' | 'unknown'>;
}

export interface SettingsChange {
  set: Record<string, JsonValue>;
  unset: string[];
  allow_loss: 'refuse' | 'allow';
}

/** V1 servers list further ones, named by their dotted path. */
export interface SettingsField
  extends
    Omit<Setting, 'keptByNull' | 'servers' | 'internal'>,
    Partial<Pick<Setting, 'keptByNull'>> {
  /** In words that follow the name; null: nothing is wrong. */
  check?: ((value: JsonValue) => string | null) | undefined;
}

export interface Secret {
  name: string;
  description: string | null;
  /** `personal` or `organization`; null where the server does not distinguish them. */
  scope: string | null;
}

export interface ModelProfile {
  name: string;
  model: string | null;
  base_url: string | null;
  api_key_set: boolean;
  active: boolean;
}

/** What `--model` takes. Prices are USD for a million tokens, null where they are not known. */
export interface Model {
  id: string;
  /** `verified`: the server recommends it. */
  kind: 'profile' | 'verified' | 'model';
  /** Tokens. */
  context: number | null;
  input_price: number | null;
  output_price: number | null;
}

/** Null members are the server's defaults. */
export interface ModelChoice {
  model: string;
  base_url: string | null;
  /** Null: the key that the profile has already. */
  api_key: string | null;
}
