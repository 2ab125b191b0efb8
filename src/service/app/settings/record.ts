/** The settings as they are stored: one record that both dialects show in their own form. */
import { isDeepStrictEqual } from 'node:util';
import type { DocumentStore } from '../../storage/documents.ts';
import type { McpEntry } from './mcp.ts';
import { type Json, type JsonObject, isObject } from './json.ts';

/** Top-level members that both dialects, or one of them, name alike; absent ones have their default. */
export const PLAIN_DEFAULTS = {
  language: null,
  user_version: null,
  remote_runtime_resource_factor: null,
  enable_sound_notifications: false,
  enable_proactive_conversation_starters: true,
  enable_solvability_analysis: true,
  user_consents_to_analytics: null,
  sandbox_base_container_image: null,
  sandbox_runtime_container_image: null,
  disabled_skills: null,
  search_api_key: null,
  sandbox_api_key: null,
  max_budget_per_task: null,
  email: null,
  email_verified: null,
  git_user_name: null,
  git_user_email: null,
  title_llm_profile: null,
  git_full_clone: false,
  v1_enabled: true,
  sandbox_grouping_strategy: 'NO_GROUPING',
  default_sandbox_spec_id: null,
  registered_marketplaces: [],
} satisfies JsonObject;
export type PlainName = keyof typeof PLAIN_DEFAULTS;

export interface StoredSettings {
  plain: Partial<Record<PlainName, Json>>;
  /** What was set of the agent's settings, nested as V1 has them, secrets in clear, without `mcp_config`. */
  agent: JsonObject;
  /** What was set of the conversation's settings. */
  conversation: JsonObject;
  mcp: McpEntry[];
}

const DOCUMENT = 'settings';

/** Null: nothing has ever been stored. */
export function readSettings(documents: DocumentStore): StoredSettings | null {
  return documents.read(DOCUMENT) as StoredSettings | null;
}

export function writeSettings(documents: DocumentStore, settings: StoredSettings): void {
  if (!isDeepStrictEqual(readSettings(documents), settings)) documents.write(DOCUMENT, settings);
}

export function emptySettings(): StoredSettings {
  return { plain: {}, agent: {}, conversation: {}, mcp: [] };
}

export function plainValue(settings: StoredSettings, name: PlainName): Json {
  return settings.plain[name] ?? PLAIN_DEFAULTS[name];
}

/** The value at a path such as `llm.model`; undefined when nothing was set. */
export function valueAt(object: JsonObject, dotted: string): Json | undefined {
  let found: Json | undefined = object;
  for (const part of dotted.split('.')) {
    if (!isObject(found)) return undefined;
    found = found[part];
  }
  return found;
}

/** Sets the value at a path; undefined removes it. Changes the object. */
export function setAt(object: JsonObject, dotted: string, value: Json | undefined): void {
  const parts = dotted.split('.');
  const last = parts.pop() ?? '';
  let holder = object;
  for (const part of parts) {
    const next: Json | undefined = holder[part];
    if (isObject(next)) holder = next;
    else holder = holder[part] = {};
  }
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else holder[last] = value;
}

/** Puts what is set over what holds otherwise, level by level. */
export function overlay(base: JsonObject, over: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = isObject(below) && isObject(value) ? overlay(below, value) : value;
  }
  return result;
}

/** The environment that makes git inside a sandbox commit under the name of the settings; empty where none is set. */
export function gitIdentity(settings: StoredSettings): Record<string, string> {
  const name = plainValue(settings, 'git_user_name');
  const email = plainValue(settings, 'git_user_email');
  return {
    ...(typeof name === 'string' ? { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name } : {}),
    ...(typeof email === 'string' ? { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email } : {}),
  };
}
