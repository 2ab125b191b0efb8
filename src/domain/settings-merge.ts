/** How settings are put together before they are written: pure, for both dialects. */
import type { JsonValue } from './settings.ts';

export type JsonObject = { [key: string]: JsonValue };

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where V1 keeps a flat name (interface 2.5); null: at the top level under the same name. */
export const V1_PATHS: Readonly<Record<string, readonly string[]>> = {
  agent: ['agent_settings', 'agent'],
  llm_model: ['agent_settings', 'llm', 'model'],
  llm_api_key: ['agent_settings', 'llm', 'api_key'],
  llm_base_url: ['agent_settings', 'llm', 'base_url'],
  mcp_config: ['agent_settings', 'mcp_config'],
  enable_default_condenser: ['agent_settings', 'condenser', 'enabled'],
  max_iterations: ['conversation_settings', 'max_iterations'],
  confirmation_mode: ['conversation_settings', 'confirmation_mode'],
  security_analyzer: ['conversation_settings', 'security_analyzer'],
};

/** The path of a name in V1's record: flat, dotted, or itself. */
export function v1PathOf(name: string): readonly string[] {
  return V1_PATHS[name] ?? name.split('.');
}

export function valueAt(record: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = record;
  for (const part of path) value = isJsonObject(value) ? value[part] : undefined;
  return value;
}

/** Puts a value at a path, making the objects on the way. */
export function putAt(record: JsonObject, path: readonly string[], value: JsonValue): void {
  let place = record;
  for (const part of path.slice(0, -1)) {
    const next = place[part];
    place = isJsonObject(next) ? next : (place[part] = {});
  }
  const last = path.at(-1);
  if (last !== undefined) place[last] = value;
}

/** The body of a V1 write: nested names go into the `_diff` members, where null removes; the rest to the top level. */
export function v1SettingsBody(changes: ReadonlyMap<string, JsonValue>): JsonObject {
  const body: JsonObject = {};
  for (const [name, value] of changes) {
    const [first = name, ...rest] = v1PathOf(name);
    const nested = first === 'agent_settings' || first === 'conversation_settings';
    putAt(body, nested ? [`${first}_diff`, ...rest] : [first, ...rest], value);
  }
  return body;
}

/** Members of V0's answer that are not settings, or that a body may not hold. */
const NOT_WRITTEN_V0 = new Set([
  'secrets_store',
  'provider_tokens_set',
  'llm_api_key_set',
  'search_api_key_set',
  'sandbox_api_key_set',
]);
/** V0 keeps these when they are left out (interface 2.2). */
const KEPT_V0 = new Set(['llm_api_key', 'search_api_key']);

/**
 * The body of a V0 write, which replaces everything: what is stored, with the changes. A null of the stored record is
 * left out for the keys V0 keeps that way, and for `sandbox_api_key`, which V0 never returns.
 */
export function v0SettingsBody(stored: JsonObject, changes: ReadonlyMap<string, JsonValue>): JsonObject {
  const body: JsonObject = {};
  for (const [name, value] of Object.entries(stored)) {
    if (NOT_WRITTEN_V0.has(name)) continue;
    if (value === null && (KEPT_V0.has(name) || name === 'sandbox_api_key')) continue;
    body[name] = value;
  }
  for (const [name, value] of changes) body[name] = value;
  return body;
}

/** All ends of a nested record with their dotted names; lists and empty objects count as ends. */
export function flatten(record: JsonObject, prefix: string): [string, JsonValue][] {
  return Object.entries(record).flatMap(([name, value]): [string, JsonValue][] => {
    const path = `${prefix}.${name}`;
    return isJsonObject(value) && Object.keys(value).length > 0 ? flatten(value, path) : [[path, value]];
  });
}
