/**
 * Settings of V1 (interface 2.5, 2.6): flat names at the path where V1 keeps them, all others under
 * their dotted path.
 */
import { AppError } from '../../base/errors.ts';
import { isMasked, maskMcpConfig, mcpServers } from '../../domain/mcp-config.ts';
import { FLAT_V1_FIELDS, V1_FIELDS } from '../../domain/settings-fields.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsChange,
  type SettingsField,
  type SettingsSnapshot,
} from '../../domain/settings.ts';
import { isSecretName } from '../../base/text/secret-names.ts';
import { isRecord } from '../../protocol/shape.ts';
import { readPresence, type ProbeFacts } from '../shared/features.ts';
import type { Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';
import {
  hasProviderTokens,
  mcpForWrite,
  readSettingsRecord,
  SETTINGS_ROUTES,
  writeSettings,
} from '../shared/settings.ts';
import { createSettingsV0 } from '../v0/settings.ts';

const FIELDS: readonly SettingsField[] = [...FLAT_V1_FIELDS, ...V1_FIELDS];
const FLAT_PATHS = new Set(FIELDS.map((field) => field.path));
/** A null here keeps the value (interface 2.6). */
const NOT_CLEARED = new Set(['user_consents_to_analytics', 'disabled_skills']);
/** Members that state what kind of record this is, or change by themselves. */
const NO_SETTING =
  /(^|\.)(schema_version|agent_kind|current_datetime|condenser_kind|is_subscription)$/;

export async function createSettingsV1(
  links: Links,
  facts: ProbeFacts,
): Promise<Server['settings']> {
  const presence = await readPresence(
    links.features,
    (call) => links.app.request(call),
    'v1-settings',
  );
  // Where V1 has no route for settings, those of both dialects are at the route of V0.
  if (presence === 'absent' && facts.dialects.includes('v0')) return createSettingsV0(links);
  if (presence === 'absent')
    throw new AppError('unsupported', 'this server has no settings that can be read or written');
  return {
    async read() {
      return snapshotOf(await readSettingsRecord(links, 'v1'));
    },
    async write(change) {
      await writeSettings(
        links,
        'v1',
        bodyOf((await readSettingsRecord(links, 'v1')) ?? {}, change),
      );
      return snapshotOf(await readSettingsRecord(links, 'v1'));
    },
    async schema() {
      const [agent, conversation] = await Promise.all([
        readSchema(links, '/agent-schema', 'agent_settings'),
        readSchema(links, '/conversation-schema', 'conversation_settings'),
      ]);
      return [...FIELDS, ...agent, ...conversation];
    },
  };
}

/**
 * Nested members go into the `_diff` members, where null removes one so that its default applies;
 * the rest is top-level.
 */
function bodyOf(record: JsonObject, change: SettingsChange): JsonObject {
  const body: JsonObject = {};
  const put = (name: string, value: JsonValue): void => {
    const [first = '', ...rest] = pathOf(name);
    const last = rest.pop() ?? first;
    let target = body;
    if (last !== first)
      for (const part of [`${first}_diff`, ...rest]) target = (target[part] ??= {}) as JsonObject;
    target[last] = value;
  };
  for (const name of change.unset) {
    if (NOT_CLEARED.has(name))
      throw new AppError('unsupported', `V1 servers cannot unset ${name}; set it to a value`);
    const field = FIELDS.find((one) => one.name === name);
    if (pathOf(name).length > 1 || field === undefined) put(name, null);
    else put(name, field.secret ? '' : field.nullable ? null : field.default);
  }
  for (const [name, value] of Object.entries(change.set)) {
    const stored = valueAt(record, pathOf(name)) ?? null;
    put(name, name === 'mcp_config' ? mcpForWrite(value, stored, change) : value);
  }
  return body;
}

function pathOf(name: string): string[] {
  return (FIELDS.find((field) => field.name === name)?.path ?? name).split('.');
}

function valueAt(record: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = record;
  for (const part of path) value = isJsonObject(value) ? value[part] : undefined;
  return value;
}

function snapshotOf(record: JsonObject | null): SettingsSnapshot {
  const values: SettingsSnapshot['values'] = {};
  const secrets: SettingsSnapshot['secrets'] = {};
  const stored = record ?? {};
  for (const { name, default: usual } of V1_FIELDS) values[name] = stored[name] ?? usual;
  for (const { name, secret, default: usual } of FLAT_V1_FIELDS) {
    const value = valueAt(stored, pathOf(name)) ?? null;
    if (secret) {
      const isSet = name === 'secrets_store' ? hasProviderTokens(stored) : stored[`${name}_set`];
      const isShown = typeof isSet === 'boolean' ? isSet : isMasked(value) ? true : null;
      secrets[name] =
        record === null ? 'unset' : isShown === null ? 'unknown' : isShown ? 'set' : 'unset';
    } else if (name === 'mcp_config')
      values[name] = mcpServers(value).size === 0 ? null : maskMcpConfig(value);
    // An empty text, as of a model, is a value that is not set.
    else values[name] = record === null ? usual : value === '' ? null : value;
  }
  for (const top of ['agent_settings', 'conversation_settings']) {
    for (const [path, value] of leavesOf(stored[top] ?? {}, top)) {
      if (
        path === top ||
        FLAT_PATHS.has(path) ||
        path.startsWith('agent_settings.mcp_config') ||
        NO_SETTING.test(path)
      )
        continue;
      if (!isSecretName(path.replace(/^.*\./, ''), 'member')) values[path] = value;
      else secrets[path] = isMasked(value) || typeof value === 'string' ? 'set' : 'unknown';
    }
  }
  return { values, secrets };
}

function leavesOf(value: JsonValue, path: string): [string, JsonValue][] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, `${path}.${name}`));
}

const TYPES = ['integer', 'number', 'boolean', 'array', 'object'] as const;

async function readSchema(links: Links, route: string, prefix: string): Promise<SettingsField[]> {
  const path = `${SETTINGS_ROUTES.v1}${route}`;
  const { status, body } = await links.app.request({
    method: 'GET',
    path,
    safe: 'read',
    accept: [404, 405],
  });
  if (status !== 200 || !isRecord(body) || !Array.isArray(body['sections'])) return [];
  return body['sections']
    .flatMap((section: unknown): unknown[] =>
      isRecord(section) && Array.isArray(section['fields']) ? section['fields'] : [],
    )
    .flatMap((item: unknown): SettingsField[] => {
      if (!isRecord(item) || typeof item['key'] !== 'string') return [];
      const given: unknown[] = Array.isArray(item['choices']) ? item['choices'] : [];
      const choices = given.map((choice) => String(isRecord(choice) ? choice['value'] : choice));
      return [
        {
          name: `${prefix}.${item['key']}`,
          type:
            item['value_type'] === 'float'
              ? 'number'
              : (TYPES.find((type) => type === item['value_type']) ?? 'string'),
          nullable: item['required'] !== true,
          secret: item['secret'] === true,
          default: (item['default'] ?? null) as JsonValue,
          choices: choices.length > 0 ? choices : null,
          minimum: null,
          maximum: null,
          description: String(item['description'] ?? item['label'] ?? ''),
        },
      ];
    })
    .filter(({ name }) => !FLAT_PATHS.has(name));
}
