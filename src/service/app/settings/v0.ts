/** The flat settings of V0: what is shown, and the replacement of the whole (interface sections 2.1 and 2.2). */
import type { SettingsV0 } from '../../../protocol/v0/requests.ts';
import { fromV0, toV0 } from './mcp.ts';
import { PLAIN_DEFAULTS, plainValue, setAt, valueAt, type PlainName, type StoredSettings } from './record.ts';
import type { Json, JsonObject } from './json.ts';

/** Members of V0 that V1 nests: name, object, place. */
const NESTED: [keyof SettingsV0, 'agent' | 'conversation', string][] = [
  ['agent', 'agent', 'agent'],
  ['max_iterations', 'conversation', 'max_iterations'],
  ['security_analyzer', 'conversation', 'security_analyzer'],
  ['confirmation_mode', 'conversation', 'confirmation_mode'],
  ['llm_model', 'agent', 'llm.model'],
  ['llm_api_key', 'agent', 'llm.api_key'],
  ['llm_base_url', 'agent', 'llm.base_url'],
  ['enable_default_condenser', 'agent', 'condenser.enabled'],
  ['condenser_max_size', 'agent', 'condenser.max_size'],
];
/** Top-level members that V0 does not know: a replacement over V0 leaves them alone. */
const V1_ONLY = new Set<PlainName>([
  'title_llm_profile',
  'git_full_clone',
  'default_sandbox_spec_id',
  'registered_marketplaces',
]);
/** Null or left out keeps them. */
const KEPT = new Set<keyof SettingsV0>([
  'llm_api_key',
  'llm_model',
  'llm_base_url',
  'search_api_key',
  'user_consents_to_analytics',
]);
const SECRETS = new Set(['llm_api_key', 'search_api_key', 'sandbox_api_key']);

/** The answer of GET. `providers`: the hosts of stored provider tokens by provider. */
export function shownV0(settings: StoredSettings, providers: Record<string, string | null>): JsonObject {
  const shown: JsonObject = {};
  for (const name of Object.keys(PLAIN_DEFAULTS) as PlainName[]) {
    if (!V1_ONLY.has(name)) shown[name] = SECRETS.has(name) ? null : plainValue(settings, name);
  }
  for (const [name, object, place] of NESTED) {
    const value = valueAt(settings[object], place) ?? (name === 'enable_default_condenser' ? true : null);
    shown[name] = SECRETS.has(name) ? null : value;
  }
  return {
    ...shown,
    secrets_store: { provider_tokens: {} },
    mcp_config: toV0(settings.mcp),
    provider_tokens_set: providers,
    llm_api_key_set: Boolean(valueAt(settings.agent, 'llm.api_key')),
    search_api_key_set: Boolean(plainValue(settings, 'search_api_key')),
  };
}

/** What POST makes of the stored settings: every missing member gets its default, except the few that are kept. */
export function replacedV0(before: StoredSettings, given: SettingsV0): StoredSettings {
  const after: StoredSettings = structuredClone(before);
  for (const name of Object.keys(PLAIN_DEFAULTS) as PlainName[]) {
    if (V1_ONLY.has(name)) continue;
    const value = given[name as keyof SettingsV0] as Json | undefined;
    if (value == null && KEPT.has(name as keyof SettingsV0)) continue;
    if (value == null || value === '') Reflect.deleteProperty(after.plain, name);
    else after.plain[name] = value;
  }
  for (const [name, object, place] of NESTED) {
    const value = given[name] as Json | undefined;
    if (value == null && KEPT.has(name)) continue;
    setAt(after[object], place, value == null || value === '' ? undefined : value);
  }
  after.mcp = fromV0(given.mcp_config, before.mcp);
  return after;
}
