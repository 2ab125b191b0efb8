/** Settings below `agent_settings` and `conversation_settings`: flat names, and dotted paths. */
import { isSecretName } from '../../base/text/secret-names.ts';
import { isMasked, MCP_CONFIG } from '../../domain/mcp-config.ts';
import { V1_FIELDS } from '../../domain/settings-fields.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsField,
  type SettingsSnapshot,
} from '../../domain/settings.ts';
import { setAt, valueAt } from '../../protocol/settings.ts';
import { isRecord, member } from '../../protocol/shape.ts';
import type { Links } from './links.ts';
import { SETTINGS_ROUTES, snapshotOf } from './settings.ts';

const FLAT_PATHS = new Set(V1_FIELDS.map((field) => field.path));
export const MCP_PATH = pathOf(MCP_CONFIG);
/** Members that state what kind of record this is, or change by themselves. */
const NO_SETTING =
  /(^|\.)(schema_version|agent_kind|current_datetime|condenser_kind|is_subscription)$/;

/** Nested members are below `…_settings_diff`. */
export function bodyOf(values: readonly [name: string, value: JsonValue][]): JsonObject {
  const body: JsonObject = {};
  for (const [name, value] of values)
    setAt(body, pathOf(name).replace(/_settings\./, '_settings_diff.'), value);
  return body;
}

export function pathOf(name: string): string {
  return V1_FIELDS.find((field) => field.name === name)?.path ?? name;
}

export function nestedSnapshot(
  record: JsonObject | null,
  fields: readonly SettingsField[],
): SettingsSnapshot {
  const stored = record ?? {};
  const { values, secrets } = snapshotOf(record, fields, ({ name, path, default: usual }) =>
    record === null ? usual : valueAt(stored, path ?? name),
  );
  const nested = ['agent_settings', 'conversation_settings'].flatMap((top) =>
    leavesOf(stored[top] ?? {}, top),
  );
  for (const [path, value] of nested) {
    const isListed = FLAT_PATHS.has(path) || path.startsWith(MCP_PATH);
    const isEmpty = !path.includes('.');
    if (isListed || isEmpty || NO_SETTING.test(path)) continue;
    if (!isSecretName(path.replace(/^.*\./, ''), 'member')) values[path] = value;
    else secrets[path] = isMasked(value) || typeof value === 'string' ? 'set' : 'unknown';
  }
  return { values, secrets };
}

function leavesOf(value: JsonValue, path: string): [string, JsonValue][] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, `${path}.${name}`));
}

const TYPES: Record<string, SettingsField['type']> = {
  integer: 'integer',
  float: 'number',
  number: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
};

/** The fields, and what the server lists beyond them. */
export async function nestedSchema(
  links: Links,
  dialect: 'v1' | 'agent',
  fields: readonly SettingsField[],
): Promise<SettingsField[]> {
  const [agent, conversation] = await Promise.all([
    readSchema(links, `${SETTINGS_ROUTES[dialect]}/agent-schema`, 'agent_settings'),
    readSchema(links, `${SETTINGS_ROUTES[dialect]}/conversation-schema`, 'conversation_settings'),
  ]);
  return [...fields, ...agent, ...conversation];
}

async function readSchema(links: Links, path: string, prefix: string): Promise<SettingsField[]> {
  const { status, body } = await links.app.request({
    path,
    accept: [404, 405],
  });
  if (status !== 200 || !isRecord(body)) return [];
  return listIn(body, 'sections')
    .flatMap((section) => listIn(section, 'fields'))
    .filter(isRecord)
    .map((item) => {
      const choices = listIn(item, 'choices').map((choice) =>
        String(isRecord(choice) ? choice['value'] : choice),
      );
      return {
        name: `${prefix}.${String(item['key'])}`,
        type: TYPES[String(item['value_type'])] ?? 'string',
        nullable: item['required'] !== true,
        secret: item['secret'] === true,
        default: (item['default'] ?? null) as JsonValue,
        choices: choices.length > 0 ? choices : null,
        minimum: null,
        description: String(item['description'] ?? item['label'] ?? ''),
      };
    })
    .filter(({ name }) => !FLAT_PATHS.has(name));
}

export function listIn(value: unknown, name: string): unknown[] {
  const list = member(value, name);
  return Array.isArray(list) ? list : [];
}
