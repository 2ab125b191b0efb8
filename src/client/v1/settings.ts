/** Settings of V1 (interface 2.5, 2.6): flat names, and the dotted paths of all others. */
import { AppError } from '../../base/errors.ts';
import { isSecretName } from '../../base/text/secret-names.ts';
import { isMasked } from '../../domain/mcp-config.ts';
import { V1_FIELDS } from '../../domain/settings-fields.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsChange,
  type SettingsField,
  type SettingsSnapshot,
} from '../../domain/settings.ts';
import { setAt, valueAt } from '../../protocol/settings.ts';
import { isRecord } from '../../protocol/shape.ts';
import { readPresence, type ProbeFacts } from '../shared/features.ts';
import type { Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';
import {
  readSettingsRecord,
  SETTINGS_ROUTES,
  snapshotOf,
  valuesToWrite,
  writeSettings,
} from '../shared/settings.ts';
import { createSettingsV0 } from '../v0/settings.ts';

const FLAT_PATHS = new Set(V1_FIELDS.map((field) => field.path));
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
  const read: Server['settings']['read'] = async () =>
    fullSnapshot(await readSettingsRecord(links, 'v1'));
  return {
    read,
    async write(change) {
      await writeSettings(links, 'v1', bodyOf(await readSettingsRecord(links, 'v1'), change));
      return await read();
    },
    async schema() {
      const [agent, conversation] = await Promise.all([
        readSchema(links, '/agent-schema', 'agent_settings'),
        readSchema(links, '/conversation-schema', 'conversation_settings'),
      ]);
      return [...V1_FIELDS, ...agent, ...conversation];
    },
  };
}

/** Nested members are below `…_settings_diff`, where null removes one: its default applies. */
function bodyOf(record: JsonObject | null, change: SettingsChange): JsonObject {
  const body: JsonObject = {};
  const storedMcp = valueAt(record ?? {}, pathOf('mcp_config')) ?? null;
  for (const [name, value] of valuesToWrite(change, 'V1', V1_FIELDS, storedMcp))
    setAt(body, pathOf(name).replace(/_settings\./, '_settings_diff.'), value);
  return body;
}

function pathOf(name: string): string {
  return V1_FIELDS.find((field) => field.name === name)?.path ?? name;
}

function fullSnapshot(record: JsonObject | null): SettingsSnapshot {
  const stored = record ?? {};
  const { values, secrets } = snapshotOf(record, V1_FIELDS, ({ name, path, default: usual }) =>
    record === null ? usual : valueAt(stored, path ?? name),
  );
  const nested = ['agent_settings', 'conversation_settings'].flatMap((top) =>
    leavesOf(stored[top] ?? {}, top),
  );
  for (const [path, value] of nested) {
    if (isListed(path) || NO_SETTING.test(path)) continue;
    if (!isSecretName(path.replace(/^.*\./, ''), 'member')) values[path] = value;
    else secrets[path] = isMasked(value) || typeof value === 'string' ? 'set' : 'unknown';
  }
  return { values, secrets };
}

/** Whether V1_FIELDS has the path, or it is an empty `…_settings` itself. */
function isListed(path: string): boolean {
  return (
    FLAT_PATHS.has(path) || path.startsWith('agent_settings.mcp_config') || !path.includes('.')
  );
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

async function readSchema(links: Links, route: string, prefix: string): Promise<SettingsField[]> {
  const path = `${SETTINGS_ROUTES.v1}${route}`;
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

function listIn(value: unknown, name: string): unknown[] {
  const list = isRecord(value) ? value[name] : null;
  return Array.isArray(list) ? list : [];
}
