/** The nested settings of V1: what is shown, and the merge of changes (interface sections 2.5 and 2.6). */
import * as v from 'valibot';
import {
  check,
  integer,
  list,
  maybe,
  number,
  oneOf,
  record,
  text,
  truth,
  type Detail,
} from '../../../protocol/detail.ts';
import { GROUPING_STRATEGIES } from '../../../protocol/v0/requests.ts';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  defaultsOf,
  problemOf,
  withoutSecrets,
  type SettingField,
} from './fields.ts';
import { fromV1, MASK, McpError, toV1 } from './mcp.ts';
import { overlay, PLAIN_DEFAULTS, plainValue, setAt, valueAt, type PlainName, type StoredSettings } from './record.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** Nothing of this has an effect here: there are no skills and no marketplaces. */
const AGENT_CONTEXT = {
  skills: [],
  system_message_suffix: null,
  user_message_suffix: null,
  load_user_skills: false,
  load_public_skills: false,
  marketplace_path: 'marketplaces/default.json',
  registered_marketplaces: [],
  load_project_skills: false,
  disabled_skills: [],
  secrets: null,
};

const SECRETS = new Set<PlainName>(['search_api_key', 'sandbox_api_key']);
/** Null keeps them. */
const KEPT_BY_NULL = new Set<PlainName>(['user_consents_to_analytics', 'disabled_skills']);

const plainMembers = record({
  language: maybe(text()),
  user_version: maybe(integer()),
  remote_runtime_resource_factor: maybe(integer()),
  enable_sound_notifications: maybe(truth()),
  enable_proactive_conversation_starters: maybe(truth()),
  enable_solvability_analysis: maybe(truth()),
  user_consents_to_analytics: maybe(truth()),
  sandbox_base_container_image: maybe(text()),
  sandbox_runtime_container_image: maybe(text()),
  disabled_skills: maybe(list(text())),
  search_api_key: maybe(text()),
  sandbox_api_key: maybe(text()),
  max_budget_per_task: maybe(number()),
  email: maybe(text()),
  email_verified: maybe(truth()),
  git_user_name: maybe(text()),
  git_user_email: maybe(text()),
  title_llm_profile: maybe(text()),
  git_full_clone: maybe(truth()),
  v1_enabled: maybe(truth()),
  sandbox_grouping_strategy: maybe(oneOf(GROUPING_STRATEGIES)),
  default_sandbox_spec_id: maybe(text()),
  registered_marketplaces: maybe(list(v.unknown())),
});

export interface ShownContext {
  /** Hosts of stored provider tokens by provider. */
  providers: Record<string, string | null>;
  profiles: JsonObject;
  /** RFC 3339. */
  now: string;
}

/** The answer of GET settings. A key that is set is shown as null, with `*_set` beside it. */
export function shownV1(settings: StoredSettings, context: ShownContext): JsonObject {
  return {
    ...common(settings, context, null),
    provider_tokens_set: context.providers,
    llm_api_key_set: Boolean(valueAt(settings.agent, 'llm.api_key')),
    search_api_key_set: Boolean(plainValue(settings, 'search_api_key')),
  };
}

/** The answer of GET users/me: the same, with an id and a mask for the keys. */
export function shownAsUser(settings: StoredSettings, context: ShownContext): JsonObject {
  return { ...common(settings, context, MASK), id: null };
}

function common(settings: StoredSettings, context: ShownContext, mask: typeof MASK | null): JsonObject {
  const plain: JsonObject = {};
  for (const name of Object.keys(PLAIN_DEFAULTS) as PlainName[]) {
    if (name === 'enable_solvability_analysis') continue; // V0 only
    plain[name] = SECRETS.has(name) ? null : plainValue(settings, name);
  }
  const agent = overlay({ schema_version: 4, agent_kind: 'openhands', ...defaultsOf(AGENT_FIELDS) }, settings.agent);
  return {
    ...plain,
    secrets_store: { provider_tokens: {} },
    agent_settings: {
      ...withoutSecrets(AGENT_FIELDS, agent, mask),
      mcp_config: toV1(settings.mcp),
      agent_context: { ...AGENT_CONTEXT, current_datetime: context.now },
    },
    conversation_settings: overlay(
      { schema_version: 1, ...defaultsOf(CONVERSATION_FIELDS) },
      withKnownAnalyzer(settings.conversation),
    ),
    llm_profiles: context.profiles,
    active_agent_profile_id: null,
    active_agent_profile_revision: null,
    inherited_marketplaces: [],
  };
}

/** V0 has analyzers that V1 does not have. */
function withKnownAnalyzer(conversation: JsonObject): JsonObject {
  const analyzer = conversation.security_analyzer;
  const isKnown = analyzer === undefined || analyzer === 'llm' || analyzer === 'none';
  return isKnown ? conversation : { ...conversation, security_analyzer: null };
}

/** The settings after a POST, or why it is refused; nothing is stored then. */
export type Merged =
  | { ok: true; settings: StoredSettings }
  | { ok: false; status: 400; error: string }
  | { ok: false; status: 422; error: string; keys: string[] }
  | { ok: false; status: 422; detail: Detail[] };

/** What POST makes of the stored settings: what is left out stays, null clears. */
export function mergedV1(before: StoredSettings, given: JsonObject): Merged {
  const wrong = ['agent_settings', 'conversation_settings'].filter((name) => name in given);
  if (wrong.length > 0) {
    const error = 'Use *_diff nested settings payloads instead of legacy keys';
    return { ok: false, status: 422, error, keys: wrong };
  }
  const plain = check(plainMembers, given, 'body');
  if (!plain.ok) return { ok: false, status: 422, detail: plain.detail };
  const after = structuredClone(before);
  for (const [name, value] of Object.entries(plain.value) as [PlainName, Json | undefined][]) {
    if (value === undefined || (value === null && KEPT_BY_NULL.has(name))) continue;
    if (value === null || value === '') Reflect.deleteProperty(after.plain, name);
    else after.plain[name] = value;
  }
  const problem =
    mergeDiff(after.agent, given.agent_settings_diff, AGENT_FIELDS, 'agent_settings_diff') ??
    mergeMcp(after, given.agent_settings_diff) ??
    mergeDiff(after.conversation, given.conversation_settings_diff, CONVERSATION_FIELDS, 'conversation_settings_diff');
  return problem === null ? { ok: true, settings: after } : { ok: false, status: 400, error: problem };
}

const KINDS = ['openhands', 'acp', 'llm'];

function mergeDiff(target: JsonObject, diff: Json | undefined, fields: SettingField[], name: string): string | null {
  if (diff == null) return null;
  if (!isObject(diff)) return `${name}\n  Input should be a valid dictionary`;
  const kind = diff.agent_kind;
  if (kind != null && !KINDS.includes(String(kind))) {
    return `${name}.agent_kind\n  Input tag '${String(kind).slice(0, 50)}' does not match any of the expected tags: 'openhands'`;
  }
  if (kind != null && kind !== 'openhands') {
    return `${name}.agent_kind\n  the local service has only agents of kind 'openhands'`;
  }
  for (const each of fields) {
    const value = valueAt(diff, each.path);
    if (value === undefined || (each.isSecret && value === MASK)) continue;
    const problem = problemOf(each, value);
    if (problem !== null) return `${name}.${each.path}\n  ${problem}`;
    setAt(target, each.path, value === null || (each.isSecret && value === '') ? undefined : value);
  }
  return clearObjects(target, diff);
}

/** A null for a whole object, such as `llm`, clears all of it. */
function clearObjects(target: JsonObject, diff: JsonObject): null {
  for (const [name, value] of Object.entries(diff)) {
    if (value === null && isObject(target[name])) Reflect.deleteProperty(target, name);
  }
  return null;
}

function mergeMcp(after: StoredSettings, diff: Json | undefined): string | null {
  if (!isObject(diff) || diff.mcp_config === undefined) return null;
  try {
    after.mcp = fromV1(diff.mcp_config, after.mcp);
    return null;
  } catch (error) {
    if (error instanceof McpError) return `agent_settings_diff.${error.message}`;
    throw error;
  }
}
