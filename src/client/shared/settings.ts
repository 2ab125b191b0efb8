import { AppError, isAppError } from '../../base/errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import {
  isMasked,
  maskMcpConfig,
  MCP_CONFIG,
  mcpServers,
  restoreMcpSecrets,
  type McpRestored,
} from '../../domain/mcp-config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsChange,
  type SettingsField,
  type SettingsSnapshot,
} from '../../domain/settings.ts';
import { isMissingRoute, serverText, errorBy } from '../http/answer.ts';
import type { Links } from './links.ts';
import { settingsError } from './quirks/mistyped-setting.ts';

export const SETTINGS_ROUTES = {
  v0: '/api/settings',
  v1: '/api/v1/settings',
  agent: '/api/settings',
};

/** Null while nothing is stored. Throws `unsupported` where the server has no such route. */
export async function readSettingsRecord(
  links: Links,
  dialect: Dialect,
): Promise<JsonObject | null> {
  const call = { path: SETTINGS_ROUTES[dialect], accept: [404] };
  const answer = await links.app.request(call).catch(async (error: unknown) => {
    throw isAppError(error) && error.details.status === 500
      ? await settingsError(links, error)
      : error;
  });
  if (isMissingRoute(answer))
    throw errorBy(answer, 'unsupported', 'this server has no settings that can be read');
  if (answer.status === 404) return null;
  if (!isJsonObject(answer.body))
    throw new AppError('server', 'unexpected response: settings is not an object');
  return answer.body;
}

/** 400 and 422 are about the values of the user; a 500 may be (interface 2.6). */
export async function writeSettings(
  links: Links,
  dialect: Dialect,
  body: JsonObject,
): Promise<void> {
  const answer = await links.app.request({
    method: dialect === 'agent' ? 'PATCH' : 'POST',
    path: SETTINGS_ROUTES[dialect],
    body,
    safe: 'idempotent',
    accept: [400, 422, 500],
  });
  const { status } = answer;
  if (status < 400) return;
  const text = serverText(answer.body) ?? `status ${status}`;
  if (status !== 500) throw errorBy(answer, 'usage', `the server refuses these settings: ${text}`);
  throw errorBy(answer, 'server', `the server did not store the settings: ${text}`, {
    hint: 'a value may be one that the server does not accept; see: acs settings schema',
  });
}

export function snapshotOf(
  record: JsonObject | null,
  fields: readonly SettingsField[],
  valueOf: (field: SettingsField) => JsonValue | undefined,
): SettingsSnapshot {
  const secretState = ({ name }: SettingsField, value: JsonValue) => {
    const isSet =
      name === 'secrets_store'
        ? Object.keys(record?.['provider_tokens_set'] ?? {}).length > 0
        : record?.[`${name}_set`];
    if (isSet === true || isMasked(value)) return 'set';
    return isSet === false || record === null ? 'unset' : 'unknown';
  };
  const snapshot: SettingsSnapshot = { values: {}, secrets: {} };
  for (const field of fields) {
    const { name, secret, nullable, default: usual } = field;
    const value = valueOf(field) ?? (nullable ? null : usual);
    if (secret) snapshot.secrets[name] = secretState(field, value);
    else if (name !== MCP_CONFIG) snapshot.values[name] = value === '' ? null : value;
    else snapshot.values[name] = mcpServers(value).size === 0 ? null : maskMcpConfig(value);
  }
  return snapshot;
}

/** @param cleared what clears a setting that is unset. Throws `conflict` for a lost secret. */
export function valuesToWrite(
  { set, unset, allow_loss }: SettingsChange,
  cleared: (name: string) => JsonValue,
  restoreMcp: (value: JsonValue) => McpRestored,
): [name: string, value: JsonValue][] {
  const changes = [...unset.map((name) => [name, null] as const), ...Object.entries(set)];
  return changes.map(([name, value]) => {
    if (value === null) return [name, cleared(name)];
    if (name !== MCP_CONFIG) return [name, value];
    const { config, lost } = restoreMcp(value);
    if (lost.length > 0 && allow_loss === 'refuse')
      throw new AppError(
        'conflict',
        `these secrets of ${MCP_CONFIG} cannot be read back and would be lost: ${lost.join(', ')}`,
        { hint: 'give them again, or write without them with --allow-loss' },
      );
    return [name, config];
  });
}

/** As `valuesToWrite`; throws `unsupported` for a value that cannot be cleared. */
export function valuesOfApp(
  change: SettingsChange,
  dialect: 'V0' | 'V1',
  fields: readonly SettingsField[],
  storedMcp: JsonValue,
): [name: string, value: JsonValue][] {
  const cleared = (name: string) => {
    const field = fields.find((one) => one.name === name);
    if (field === undefined || (field.path !== undefined && dialect === 'V1')) return null;
    const isKept = field.keptByNull?.includes(dialect) === true;
    if (isKept && field.type !== 'string')
      throw new AppError(
        'unsupported',
        `${dialect} servers cannot unset ${name}; set it to a value`,
      );
    if (isKept || (field.secret && dialect === 'V1')) return '';
    return field.nullable ? null : field.default;
  };
  return valuesToWrite(change, cleared, (value) => restoreMcpSecrets(value, storedMcp));
}
