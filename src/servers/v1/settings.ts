/** Settings of V1 (interface 2.5, 2.6): flat names put where V1 keeps them, everything else under its dotted path. */
import { AppError, isAppError } from '../../errors.ts';
import { isMasked, mcpFromV1, mcpToV1 } from '../../domain/mcp-config.ts';
import { SETTINGS_FIELDS, V1_FIELDS } from '../../domain/settings-fields.ts';
import {
  flatten,
  isJsonObject,
  v1PathOf,
  v1SettingsBody,
  V1_PATHS,
  valueAt,
  type JsonObject,
} from '../../domain/settings-merge.ts';
import type { JsonValue, McpConfig, SettingsChange, SettingsField, SettingsSnapshot } from '../../domain/settings.ts';
import { isRecord } from '../../protocol/shape.ts';
import { isMissingRoute, readPresence } from '../features.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Server } from '../server.ts';
import { refuseBadValues, unreadableSettings } from '../quirks/mistyped-setting.ts';
import { settingsMissing, settingsRefused } from '../settings-write.ts';
import { writeSecretsStore } from '../secrets-store.ts';
import type { Answer } from '../transport/answer.ts';
import { createSettingsV0 } from '../v0/settings.ts';
import { schemaFieldsV1 } from './settings-schema.ts';

/** V1 dropped it. */
const MISSING_IN_V1 = new Set(['enable_solvability_analysis']);
/** The flat fields with the defaults of V1: it judges risks by the model by default (interface 2.5). */
const FIELDS = SETTINGS_FIELDS.filter((field) => !MISSING_IN_V1.has(field.name)).map((field) =>
  field.name === 'security_analyzer' ? { ...field, default: 'llm' } : field,
);
/** A null here keeps the value (interface 2.6). */
const NOT_CLEARED = new Set(['user_consents_to_analytics', 'disabled_skills']);
const SECRET_END = /(^|[._])(api_key|secret|token|password|access_key_id|secret_access_key|session_token)$/;

export function createSettingsV1(links: Links, facts: ProbeFacts): Server['settings'] {
  const newer = settingsOverV1(links);
  // Where V1 has no route for settings, those of both dialects are at the route of V0.
  const older = createSettingsV0(links, facts);
  const settings = async (): Promise<Server['settings']> => {
    const presence = await readPresence(links.features, (call) => links.app.request(call), 'v1-settings');
    if (presence !== 'absent') return newer;
    if (facts.dialects.includes('v0')) return older;
    throw new AppError('unsupported', 'this server has no settings that can be read or written');
  };
  return {
    read: async () => (await settings()).read(),
    write: async (...change) => (await settings()).write(...change),
    schema: async () => (await settings()).schema(),
  };
}

function settingsOverV1(links: Links): Server['settings'] {
  return {
    async read() {
      return snapshot(await readRecord(links));
    },
    async write(change, beforeWrite) {
      const record = await readRecord(links);
      const changes = await changesOf(links, change, record);
      const store = change.set['secrets_store'];
      await beforeWrite?.();
      if (changes.size > 0) await post(links, v1SettingsBody(changes));
      if (store !== undefined || change.unset.includes('secrets_store'))
        await writeSecretsStore(links, 'v1', store ?? null);
      return snapshot(await readRecord(links));
    },
    async schema() {
      return [...FIELDS, ...V1_FIELDS, ...(await schemaFieldsV1(links))];
    },
  };
}

async function readRecord(links: Links): Promise<JsonObject | null> {
  const answer = await settingsAnswer(links);
  if (isMissingRoute(answer)) throw settingsMissing(answer);
  if (answer.status === 404) return null;
  if (!isRecord(answer.body)) throw new AppError('server', 'unexpected response: settings is not an object');
  return answer.body as JsonObject;
}

async function settingsAnswer(links: Links): Promise<Answer> {
  try {
    return await links.app.request({ method: 'GET', path: '/api/v1/settings', safe: 'read', accept: [404] });
  } catch (error) {
    throw isAppError(error) && error.details.status === 500 ? unreadableSettings(error) : error;
  }
}

function snapshot(record: JsonObject | null): SettingsSnapshot {
  const values: SettingsSnapshot['values'] = {};
  const secrets: SettingsSnapshot['secrets'] = {};
  const stored = record ?? {};
  for (const field of FIELDS) {
    if (field.secret) {
      secrets[field.name] = secretState(stored, field.name, record === null);
      continue;
    }
    const value = valueAt(stored, v1PathOf(field.name));
    if (field.name === 'mcp_config') values[field.name] = mcpValue(value);
    // An empty text, as of a model, is a value that is not set.
    else values[field.name] = record === null ? field.default : value === '' ? null : (value ?? null);
  }
  for (const field of V1_FIELDS) values[field.name] = stored[field.name] ?? field.default;
  addNested(stored, values, secrets);
  return { stored: record !== null, values, secrets };
}

function mcpValue(value: JsonValue | undefined): JsonValue {
  const config = mcpFromV1(value);
  const empty = !config.sse_servers?.length && !config.shttp_servers?.length && !config.stdio_servers?.length;
  return empty ? null : (config as JsonObject);
}

function secretState(stored: JsonObject, name: string, nothing: boolean): 'set' | 'unset' | 'unknown' {
  if (nothing) return 'unset';
  if (name === 'secrets_store')
    return Object.keys(isJsonObject(stored['provider_tokens_set']) ? stored['provider_tokens_set'] : {}).length > 0
      ? 'set'
      : 'unset';
  const isSet = stored[`${name}_set`];
  if (typeof isSet === 'boolean') return isSet ? 'set' : 'unset';
  return isMasked(stored[name]) ? 'set' : 'unknown';
}

const FLAT_PATHS = new Set(Object.values(V1_PATHS).map((path) => path.join('.')));
/** Members that say what kind of record this is, or change by themselves. */
const NO_SETTING = /(^|\.)(schema_version|agent_kind|current_datetime|condenser_kind|is_subscription)$/;

function addNested(stored: JsonObject, values: SettingsSnapshot['values'], secrets: SettingsSnapshot['secrets']): void {
  for (const top of ['agent_settings', 'conversation_settings']) {
    const nested = stored[top];
    if (!isJsonObject(nested)) continue;
    for (const [path, value] of flatten(nested, top)) {
      if (FLAT_PATHS.has(path) || path.startsWith('agent_settings.mcp_config') || NO_SETTING.test(path)) continue;
      if (SECRET_END.test(path)) secrets[path] = isMasked(value) || typeof value === 'string' ? 'set' : 'unknown';
      else values[path] = value;
    }
  }
}

async function changesOf(
  links: Links,
  change: SettingsChange,
  record: JsonObject | null,
): Promise<Map<string, JsonValue>> {
  const dotted = [...Object.keys(change.set), ...change.unset].some((name) => name.includes('.'));
  const fields = [...SETTINGS_FIELDS, ...V1_FIELDS, ...(dotted ? await schemaFieldsV1(links) : [])];
  refuseMissing([...Object.keys(change.set), ...change.unset]);
  refuseBadValues(fields, change);
  const changes = new Map<string, JsonValue>();
  for (const name of change.unset) {
    if (name === 'secrets_store') continue;
    if (NOT_CLEARED.has(name)) throw new AppError('unsupported', `V1 servers cannot unset ${name}; set it to a value`);
    // Top-level secrets are cleared by an empty text, nested members by null.
    changes.set(name, name === 'search_api_key' || name === 'sandbox_api_key' ? '' : unsetValue(name, fields));
  }
  for (const [name, value] of Object.entries(change.set)) {
    if (name === 'secrets_store') continue;
    changes.set(
      name,
      name === 'mcp_config' && value !== null ? mcpForWrite(value as McpConfig, record, change) : value,
    );
  }
  return changes;
}

/** null removes a nested member, so that its default applies; a top-level one that is not nullable gets its default. */
function unsetValue(name: string, fields: readonly SettingsField[]): JsonValue {
  const field = fields.find((one) => one.name === name);
  const nested = v1PathOf(name).length > 1;
  return nested || field === undefined || field.nullable ? null : field.default;
}

function refuseMissing(names: readonly string[]): void {
  const missing = names.filter((name) => MISSING_IN_V1.has(name));
  if (missing.length > 0) throw new AppError('unsupported', `V1 servers have no ${missing.join(', ')}; V0 servers do`);
}

/** The map is replaced as a whole and its keys cannot be read back: one that is masked or left out would be lost. */
function mcpForWrite(wanted: McpConfig, record: JsonObject | null, change: SettingsChange): JsonValue {
  const stored = mcpFromV1(record === null ? undefined : valueAt(record, v1PathOf('mcp_config')));
  const lost: string[] = [];
  const keep = (
    url: string,
    key: string | null | undefined,
    twins: { url: string; api_key?: string | null }[] | undefined,
  ): string | null => {
    const isSet = twins?.some((twin) => twin.url === url && isMasked(twin.api_key ?? null)) ?? false;
    if (isMasked(key ?? null) || (isSet && !key)) lost.push(`the key of ${url}`);
    return isMasked(key ?? null) ? null : (key ?? null);
  };
  const config: McpConfig = {
    sse_servers: wanted.sse_servers?.map((server) => ({
      ...server,
      api_key: keep(server.url, server.api_key, stored.sse_servers),
    })),
    shttp_servers: wanted.shttp_servers?.map((server) => ({
      ...server,
      api_key: keep(server.url, server.api_key, stored.shttp_servers),
    })),
    stdio_servers: wanted.stdio_servers?.map((server) => {
      const entries = Object.entries(server.env ?? {});
      for (const [name, value] of entries) if (isMasked(value)) lost.push(`${name} of ${server.name}`);
      return { ...server, env: Object.fromEntries(entries.filter(([, value]) => !isMasked(value))) };
    }),
  };
  if (lost.length > 0 && change.allow_loss === 'refuse') {
    throw new AppError(
      'conflict',
      `mcp_config is written as a whole, and these secrets would be lost: ${lost.join(', ')}`,
      {
        hint: 'give them again, or write without them with --allow-loss',
      },
    );
  }
  return mcpToV1(config);
}

async function post(links: Links, body: JsonObject): Promise<void> {
  const answer = await links.app.request({
    method: 'POST',
    path: '/api/v1/settings',
    body,
    safe: 'idempotent',
    accept: [400, 422, 500],
  });
  if (answer.status >= 400) throw settingsRefused(answer);
}
