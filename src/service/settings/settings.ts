/**
 * The settings as they are stored, and as each dialect shows and changes them (interface sections
 * 2.1, 2.2, 2.5, 2.6).
 */
import { isDeepStrictEqual } from 'node:util';
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
} from '../../protocol/detail.ts';
import {
  GROUPING_STRATEGIES,
  settings as settingsV0,
  type SettingsV0,
} from '../../protocol/v0/requests.ts';
import { HttpError, invalid } from '../http/answer.ts';
import type { DocumentStore } from '../storage/documents.ts';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  defaultsOf,
  isObject,
  MASK,
  overlay,
  problemOf,
  setAt,
  valueAt,
  withoutSecrets,
  type Json,
  type JsonObject,
  type Mask,
} from './fields.ts';
import { fromV0, fromV1, toV0, toV1, type McpEntry } from './mcp.ts';
import { cut } from '../../base/text/well-formed.ts';

const PLAIN = {
  language: [text(), null],
  user_version: [integer(), null],
  remote_runtime_resource_factor: [integer(), null],
  enable_sound_notifications: [truth(), false],
  enable_proactive_conversation_starters: [truth(), true],
  enable_solvability_analysis: [truth(), true],
  user_consents_to_analytics: [truth(), null],
  sandbox_base_container_image: [text(), null],
  sandbox_runtime_container_image: [text(), null],
  disabled_skills: [list(text()), null],
  search_api_key: [text(), null],
  sandbox_api_key: [text(), null],
  max_budget_per_task: [number(), null],
  email: [text(), null],
  email_verified: [truth(), null],
  git_user_name: [text(), null],
  git_user_email: [text(), null],
  title_llm_profile: [text(), null],
  git_full_clone: [truth(), false],
  v1_enabled: [truth(), true],
  sandbox_grouping_strategy: [oneOf(GROUPING_STRATEGIES), 'NO_GROUPING'],
  default_sandbox_spec_id: [text(), null],
  registered_marketplaces: [list(v.unknown()), []],
} satisfies Record<string, [v.GenericSchema, Json]>;
type PlainName = keyof typeof PLAIN;

const PLAIN_NAMES = Object.keys(PLAIN) as PlainName[];

export interface StoredSettings {
  plain: Partial<Record<PlainName, Json>>;
  /**
   * What was set of the agent's settings, nested as V1 has them, secrets in clear, without
   * `mcp_config`.
   */
  agent: JsonObject;
  conversation: JsonObject;
  mcp: McpEntry[];
}

/**
 * Named model settings that can be made the current ones: what was set of each one's llm, secrets
 * in clear.
 */
export interface Profiles {
  profiles: Record<string, JsonObject>;
  active: string | null;
}

/** Null: nothing has ever been stored. */
export function readSettings(documents: DocumentStore): StoredSettings | null {
  return documents.read('settings') as StoredSettings | null;
}

/** No profile is active once the model settings differ from its own, as on genuine servers. */
export function writeSettings(documents: DocumentStore, settings: StoredSettings): void {
  if (isDeepStrictEqual(readSettings(documents), settings)) return;
  documents.write('settings', settings);
  const all = readProfiles(documents);
  const active = all.active === null ? undefined : all.profiles[all.active];
  const current = isObject(settings.agent.llm) ? settings.agent.llm : {};
  if (active === undefined || isDeepStrictEqual(withDefaults(active), withDefaults(current)))
    return;
  writeProfiles(documents, { ...all, active: null });
}

export function emptySettings(): StoredSettings {
  return { plain: {}, agent: {}, conversation: {}, mcp: [] };
}

function plainMembers(settings: StoredSettings, names: PlainName[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, settings.plain[name] ?? PLAIN[name][1]]));
}

/**
 * A name of the request is looked up in `profiles`, which therefore inherits no member such as
 * `constructor`.
 */
export function readProfiles(documents: DocumentStore): Profiles {
  const { profiles, active } = (documents.read('llm_profiles') as Profiles | null) ?? {
    profiles: {},
    active: null,
  };
  return { profiles: Object.assign(Object.create(null) as Profiles['profiles'], profiles), active };
}

export function writeProfiles(documents: DocumentStore, profiles: Profiles): void {
  documents.write('llm_profiles', profiles);
}

function withDefaults(llm: JsonObject): JsonObject {
  return overlay(defaultsOf(AGENT_FIELDS), { llm });
}

/**
 * The environment that makes git inside a sandbox commit under the name of the settings; empty
 * where none is set.
 */
export function gitIdentity(documents: DocumentStore): Record<string, string> {
  const { git_user_name: name, git_user_email: email } = readSettings(documents)?.plain ?? {};
  return {
    ...(typeof name === 'string' ? { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name } : {}),
    ...(typeof email === 'string' ? { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email } : {}),
  };
}

/** Members of V0 that V1 nests: name, object, path. */
const NESTED = [
  ['agent', 'agent', 'agent'],
  ['max_iterations', 'conversation', 'max_iterations'],
  ['security_analyzer', 'conversation', 'security_analyzer'],
  ['confirmation_mode', 'conversation', 'confirmation_mode'],
  ['llm_model', 'agent', 'llm.model'],
  ['llm_api_key', 'agent', 'llm.api_key'],
  ['llm_base_url', 'agent', 'llm.base_url'],
  ['enable_default_condenser', 'agent', 'condenser.enabled'],
  ['condenser_max_size', 'agent', 'condenser.max_size'],
] as const;
/** A replacement over V0 does not change the members that only V1 has. */
const PLAIN_V0 = PLAIN_NAMES.filter((name) => name in settingsV0.entries);
/** Null or left out keeps them over V0. */
const KEPT = new Set([
  'llm_api_key',
  'llm_model',
  'llm_base_url',
  'search_api_key',
  'user_consents_to_analytics',
]);

export function shownV0(
  settings: StoredSettings,
  providers: Record<string, string | null>,
): JsonObject {
  return {
    ...plainMembers(settings, PLAIN_V0),
    ...Object.fromEntries(
      NESTED.map(([name, object, path]) => [name, valueAt(settings[object], path) ?? null]),
    ),
    enable_default_condenser: valueAt(settings.agent, 'condenser.enabled') ?? true,
    llm_api_key: null,
    search_api_key: null,
    sandbox_api_key: null,
    secrets_store: { provider_tokens: {} },
    mcp_config: toV0(settings.mcp),
    provider_tokens_set: providers,
    llm_api_key_set: Boolean(valueAt(settings.agent, 'llm.api_key')),
    search_api_key_set: Boolean(settings.plain.search_api_key),
  };
}

export function replacedV0(before: StoredSettings, given: SettingsV0): StoredSettings {
  const after = structuredClone(before);
  for (const [name, object, path] of [
    ...PLAIN_V0.map((name) => [name, 'plain', name] as const),
    ...NESTED,
  ]) {
    const value = given[name as keyof SettingsV0] as Json | undefined;
    if (value == null && KEPT.has(name)) continue;
    setAt(after[object], path, value == null || value === '' ? undefined : value);
  }
  after.mcp = fromV0(given.mcp_config, before.mcp);
  return after;
}

/** Nothing of this has an effect here: there are no skills and no marketplaces. */
export const AGENT_CONTEXT = {
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

/** `now` in RFC 3339. */
export function shownV1(
  settings: StoredSettings,
  all: Profiles,
  now: string,
  mask: Mask,
): JsonObject {
  const names = PLAIN_NAMES.filter((name) => name !== 'enable_solvability_analysis'); // V0 only
  const agent = overlay(
    { schema_version: 4, agent_kind: 'openhands', ...defaultsOf(AGENT_FIELDS) },
    settings.agent,
  );
  const conversation = overlay(
    { schema_version: 1, ...defaultsOf(CONVERSATION_FIELDS) },
    settings.conversation,
  );
  // V0 has analyzers that V1 does not have.
  if (!['llm', 'none'].includes(String(conversation.security_analyzer)))
    conversation.security_analyzer = null;
  const profiles = Object.entries(all.profiles).map(
    ([name, llm]) => [name, profileConfig(llm, mask)] as const,
  );
  return {
    ...plainMembers(settings, names),
    ...(mask === undefined ? {} : { search_api_key: null, sandbox_api_key: null }),
    secrets_store: { provider_tokens: {} },
    agent_settings: {
      ...withoutSecrets(AGENT_FIELDS, agent, mask),
      mcp_config: toV1(settings.mcp, mask === undefined),
      agent_context: { ...AGENT_CONTEXT, current_datetime: now },
    },
    conversation_settings: conversation,
    llm_profiles: { profiles: Object.fromEntries(profiles), active: all.active },
    active_agent_profile_id: null,
    active_agent_profile_revision: null,
    inherited_marketplaces: [],
  };
}

export function profileConfig(llm: JsonObject, mask: Mask): JsonObject {
  return withoutSecrets(AGENT_FIELDS, withDefaults(llm), mask).llm as JsonObject;
}

/** What is left out stays, null clears. Throws HttpError 400 or 422; nothing is stored then. */
export function mergedV1(before: StoredSettings, given: JsonObject): StoredSettings {
  const keys = ['agent_settings', 'conversation_settings'].filter((name) => name in given);
  if (keys.length > 0) {
    throw new HttpError(422, {
      error: 'Use *_diff nested settings payloads instead of legacy keys',
      keys,
    });
  }
  const schemas = Object.entries(PLAIN).map(
    ([name, [schema]]) => [name, maybe<v.GenericSchema>(schema)] as const,
  );
  const plain = check(record(Object.fromEntries(schemas)), given, 'body');
  if (!plain.ok) throw invalid(plain.detail);
  const after = structuredClone(before);
  for (const [name, value] of Object.entries(plain.value) as [PlainName, Json | undefined][]) {
    const isKept =
      value === null && (name === 'user_consents_to_analytics' || name === 'disabled_skills');
    if (value !== undefined && !isKept)
      setAt(after.plain, name, value === null || value === '' ? undefined : value);
  }
  const refuse = (member: string, why: string): never => {
    throw new HttpError(400, { error: `${member}\n  ${why}` });
  };
  for (const [name, target, fields] of [
    ['agent_settings_diff', after.agent, AGENT_FIELDS],
    ['conversation_settings_diff', after.conversation, CONVERSATION_FIELDS],
  ] as const) {
    const diff = given[name] ?? {};
    if (!isObject(diff)) return refuse(name, 'Input should be a valid dictionary');
    const { agent_kind: kind } = diff;
    if (kind === 'acp' || kind === 'llm') {
      refuse(`${name}.agent_kind`, "the local service has only agents of kind 'openhands'");
    } else if (kind != null && kind !== 'openhands') {
      const tag = cut(String(kind), 50);
      refuse(
        `${name}.agent_kind`,
        `Input tag '${tag}' does not match any of the expected tags: 'openhands'`,
      );
    }
    for (const each of fields) {
      const value = valueAt(diff, each.path);
      if (value === undefined || (each.isSecret && value === MASK)) continue;
      const problem = problemOf(each, value);
      if (problem !== null) refuse(`${name}.${each.path}`, problem);
      setAt(
        target,
        each.path,
        value === null || (each.isSecret && value === '') ? undefined : value,
      );
    }
    // A null for a whole object, such as `llm`, clears all of it.
    for (const [member, value] of Object.entries(diff))
      if (value === null) Reflect.deleteProperty(target, member);
  }
  const { agent_settings_diff: agent } = given;
  if (isObject(agent) && agent.mcp_config !== undefined)
    after.mcp = fromV1(agent.mcp_config, after.mcp);
  return after;
}
