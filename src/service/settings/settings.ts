/** The stored settings, as each dialect shows and changes them (interface 2.1, 2.2, 2.5, 2.6). */
import { isDeepStrictEqual } from 'node:util';
import { check } from '../../protocol/detail.ts';
import {
  isJsonObject,
  PLAIN_SETTINGS,
  setAt,
  SETTINGS,
  valueAt,
  type JsonObject,
  type JsonValue,
  type Setting,
} from '../../protocol/settings.ts';
import type { SettingsV0 } from '../../protocol/v0/requests.ts';
import { plainSettings } from '../../protocol/v1/requests.ts';
import { HttpError, invalid, refuse } from '../http/answer.ts';
import type { DocumentStore } from '../storage/documents.ts';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  defaultsOf,
  MASK,
  overlay,
  typeError,
  unsupported,
  withoutSecrets,
  type Mask,
  type SettingField,
} from './fields.ts';
import { fromV0, fromV1, toV0, toV1, type McpServers } from './mcp.ts';
import { cut } from '../../base/text/well-formed.ts';

/** What was set, with the secrets in clear; what is not here has its default. */
export interface StoredSettings {
  /** Keys are the names of PLAIN_SETTINGS. */
  plain: JsonObject;
  /** Nested as V1 has them, without `mcp_config`. */
  agent: JsonObject;
  conversation: JsonObject;
  mcp: McpServers;
}

/** Keys are names; values are the members of `llm` that were set, with the secrets in clear. */
export interface Profiles {
  profiles: Record<string, JsonObject>;
  active: string | null;
}

export function hasSettings(documents: DocumentStore): boolean {
  return documents.read('settings') !== null;
}

export function readSettings(documents: DocumentStore): StoredSettings {
  const { plain, agent, conversation, mcp } = (documents.read('settings') ??
    {}) as Partial<StoredSettings>;
  return {
    plain: plain ?? {},
    agent: agent ?? {},
    conversation: conversation ?? {},
    mcp: serversOf(mcp ?? {}),
  };
}

/** Builds of 2026 stored a list, with a member `kind` and what only V1 has in `more`. */
function serversOf(mcp: McpServers | JsonObject[]): McpServers {
  if (!Array.isArray(mcp)) return mcp;
  const servers = mcp.map(({ name, kind, more, ...server }) => {
    const transport = kind === 'sse' ? 'sse' : 'http';
    const web: JsonObject = kind === 'stdio' ? {} : { transport };
    return [String(name), { ...(more as JsonObject), ...server, ...web }] as const;
  });
  return Object.fromEntries(servers);
}

/** No profile is active once the model settings differ from its own, as on genuine servers. */
export function writeSettings(documents: DocumentStore, settings: StoredSettings): void {
  documents.write('settings', settings);
  const { profiles, active } = readProfiles(documents);
  const profile = profiles[active ?? ''];
  const current = isJsonObject(settings.agent.llm) ? settings.agent.llm : {};
  if (profile !== undefined && !isDeepStrictEqual(withDefaults(profile), withDefaults(current)))
    writeProfiles(documents, { profiles, active: null });
}

/** `profiles` inherits no member such as `constructor`: requests name its members. */
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

export function gitIdentity(documents: DocumentStore): Record<string, string> {
  const { git_user_name: name, git_user_email: email } = readSettings(documents).plain;
  return {
    ...(typeof name === 'string' ? { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name } : {}),
    ...(typeof email === 'string' ? { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email } : {}),
  };
}

/** A replacement over V0 does not change what only V1 has. */
const SETTINGS_V0 = SETTINGS.filter(
  ({ name, servers }) => servers !== 'V1' && name !== 'secrets_store' && name !== 'mcp_config',
);

function storedPath({ name, path }: Setting): string {
  return path?.replace('_settings.', '.') ?? `plain.${name}`;
}

export function shownV0(
  settings: StoredSettings,
  providers: Record<string, string | null>,
): JsonObject {
  const shown = (row: Setting): JsonValue => {
    if (row.secret) return null;
    return valueAt({ ...settings }, storedPath(row)) ?? (row.nullable ? null : row.default);
  };
  return {
    ...Object.fromEntries(SETTINGS_V0.map((row) => [row.name, shown(row)])),
    secrets_store: { provider_tokens: {} },
    mcp_config: toV0(settings.mcp),
    provider_tokens_set: providers,
    ...keysSet(settings),
  };
}

export function keysSet({ agent, plain }: StoredSettings) {
  return {
    llm_api_key_set: Boolean(valueAt(agent, 'llm.api_key')),
    search_api_key_set: Boolean(plain.search_api_key),
  };
}

export function replacedV0(before: StoredSettings, replacement: SettingsV0): StoredSettings {
  const after = { ...structuredClone(before), mcp: fromV0(replacement.mcp_config, before.mcp) };
  for (const row of SETTINGS_V0) {
    const value = replacement[row.name];
    if (value == null && row.keptByNull.includes('V0')) continue;
    change(after, storedPath(row), value ?? null);
  }
  return after;
}

/** Null and an empty text clear a setting. */
function change(settings: object, path: string, value: JsonValue): void {
  setAt(settings as JsonObject, path, value === null || value === '' ? undefined : value);
}

/** Nothing of this has an effect here: there are no skills of users and no marketplaces. */
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

export function shownV1(
  settings: StoredSettings,
  all: Profiles,
  now: string,
  mask: Mask,
): JsonObject {
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
    ...Object.fromEntries(
      PLAIN_SETTINGS.filter(({ servers }) => servers !== 'V0').map((row) => [
        row.name,
        row.secret && mask !== undefined ? null : (settings.plain[row.name] ?? row.default),
      ]),
    ),
    secrets_store: { provider_tokens: {} },
    agent_settings: {
      ...withoutSecrets(AGENT_FIELDS, agent, mask),
      mcp_config: toV1(settings.mcp, mask),
      agent_context: { ...AGENT_CONTEXT, current_datetime: now },
    },
    conversation_settings: conversation,
    llm_profiles: { profiles: Object.fromEntries(profiles), active: all.active },
    active_agent_profile_id: null,
    active_agent_profile_revision: null,
    inherited_marketplaces: [],
  };
}

function profileConfig(llm: JsonObject, mask: Mask): JsonObject {
  return withoutSecrets(AGENT_FIELDS, withDefaults(llm), mask).llm as JsonObject;
}

export function knownProfile(documents: DocumentStore, name: string) {
  const all = readProfiles(documents);
  const llm = all.profiles[name];
  if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
  return { all, llm };
}

export function shownProfile(documents: DocumentStore, name: string, mask: Mask) {
  const { llm } = knownProfile(documents, name);
  return { name, config: profileConfig(llm, mask), api_key_set: Boolean(llm.api_key) };
}

/** What is left out stays, null clears. Throws HttpError 400 or 422. */
export function mergedV1(before: StoredSettings, body: JsonObject): StoredSettings {
  const keys = ['agent_settings', 'conversation_settings'].filter((name) => name in body);
  if (keys.length > 0) {
    throw new HttpError(422, {
      error: 'Use *_diff nested settings payloads instead of legacy keys',
      keys,
    });
  }
  const plain = check(plainSettings, body, 'body');
  if (!plain.ok) throw invalid(plain.detail);
  const after = structuredClone(before);
  const values = plain.value as JsonObject;
  for (const { name, keptByNull } of PLAIN_SETTINGS) {
    const value = values[name];
    if (value === undefined || (value === null && keptByNull.includes('V1'))) continue;
    change(after.plain, name, value);
  }
  const { agent_settings_diff: agent = {}, conversation_settings_diff: conversation = {} } = body;
  mergeDiff(after.agent, AGENT_FIELDS, 'agent_settings_diff', agent);
  const reason = unsupported(agent as JsonObject);
  if (reason !== null) throw refuse(501, reason);
  mergeDiff(after.conversation, CONVERSATION_FIELDS, 'conversation_settings_diff', conversation);
  if (isJsonObject(agent) && agent.mcp_config !== undefined)
    after.mcp = fromV1(agent.mcp_config, after.mcp);
  return after;
}

function mergeDiff(
  stored: JsonObject,
  fields: readonly SettingField[],
  member: string,
  diff: JsonValue,
): void {
  const refused = (at: string, why: string) => new HttpError(400, { error: `${at}\n  ${why}` });
  if (!isJsonObject(diff)) throw refused(member, 'Input should be a valid dictionary');
  const kind = diff.agent_kind ?? 'openhands';
  if (kind !== 'openhands') {
    const why = "the local service has only agents of kind 'openhands'";
    throw refused(`${member}.agent_kind`, `Input tag '${cut(String(kind), 50)}': ${why}`);
  }
  for (const field of fields) {
    const { path, isSecret } = field;
    const value = valueAt(diff, path);
    if (value === undefined || (isSecret && value === MASK)) continue;
    const error = typeError(field, value);
    if (error !== null) throw refused(`${member}.${path}`, error);
    const isCleared = value === null || (isSecret && value === '');
    setAt(stored, path, isCleared ? undefined : value);
  }
  // A null for a whole object, such as `llm`, clears all of it.
  for (const [name, value] of Object.entries(diff))
    if (value === null) Reflect.deleteProperty(stored, name);
}
