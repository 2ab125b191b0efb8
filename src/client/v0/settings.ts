/**
 * Settings of V0 (interface 2.1, 2.2): a write replaces the whole object, so everything is sent
 * back with the change.
 */
import { AppError } from '../../base/errors.ts';
import { maskMcpConfig } from '../../domain/mcp-config.ts';
import { V0_FIELDS } from '../../domain/settings-fields.ts';
import type { JsonObject, SettingsChange, SettingsSnapshot } from '../../domain/settings.ts';
import type { Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';
import {
  hasProviderTokens,
  mcpForWrite,
  readSettingsRecord,
  writeSettings,
} from '../shared/settings.ts';

/** An empty text clears these; null would keep them. */
const CLEARED_BY_EMPTY = new Set(['llm_api_key', 'llm_model', 'llm_base_url', 'search_api_key']);

export function createSettingsV0(links: Links): Server['settings'] {
  return {
    async read() {
      return snapshotOf(await readSettingsRecord(links, 'v0'));
    },
    async write(change) {
      const record = await readSettingsRecord(links, 'v0');
      if (!('sandbox_api_key' in change.set) && record !== null) {
        links.notice(
          'V0 servers do not report whether sandbox_api_key is set, and drop it with every ' +
            'write: set it again if it was set',
        );
      }
      await writeSettings(links, 'v0', bodyOf(record ?? {}, change));
      return snapshotOf(await readSettingsRecord(links, 'v0'));
    },
    schema: () => Promise.resolve([...V0_FIELDS]),
  };
}

function bodyOf(record: JsonObject, change: SettingsChange): JsonObject {
  const body: JsonObject = {};
  for (const [name, value] of Object.entries(record)) {
    // The null of a key stands for a value that the server does not return, and keeps when it is
    // left out.
    if (!/^(secrets_store|\w+_set)$/.test(name) && !(value === null && name.endsWith('_api_key')))
      body[name] = value;
  }
  for (const name of change.unset) {
    if (name === 'user_consents_to_analytics')
      throw new AppError('unsupported', `V0 servers cannot unset ${name}; set it to true or false`);
    const field = V0_FIELDS.find((one) => one.name === name);
    body[name] = CLEARED_BY_EMPTY.has(name) ? '' : field?.nullable === false ? field.default : null;
  }
  for (const [name, value] of Object.entries(change.set)) {
    if (name === 'mcp_config')
      body[name] = mcpForWrite(value, record['mcp_config'] ?? null, change);
    else body[name] = value === null && CLEARED_BY_EMPTY.has(name) ? '' : value;
  }
  return body;
}

function snapshotOf(record: JsonObject | null): SettingsSnapshot {
  const values: SettingsSnapshot['values'] = {};
  const secrets: SettingsSnapshot['secrets'] = {};
  for (const { name, secret, nullable, default: usual } of V0_FIELDS) {
    if (secret) {
      const isSet =
        name === 'secrets_store' ? hasProviderTokens(record ?? {}) : record?.[`${name}_set`];
      secrets[name] =
        record === null
          ? 'unset'
          : typeof isSet === 'boolean'
            ? isSet
              ? 'set'
              : 'unset'
            : 'unknown';
      continue;
    }
    // V0 stores null for fields that were never set: without this a first write would be shown as a
    // change of every field.
    const value = record === null ? (nullable ? null : usual) : (record[name] ?? null);
    // V0 returns the keys of MCP servers in clear.
    values[name] = name === 'mcp_config' ? maskMcpConfig(value) : value;
  }
  return { values, secrets };
}
