/** Settings of V0 (interface 2.1, 2.2): a write replaces the whole object, so everything is sent back with the change. */
import { AppError } from '../../errors.ts';
import { maskMcpConfig, unmaskMcpConfig } from '../../domain/mcp-config.ts';
import { SETTINGS_FIELDS } from '../../domain/settings-fields.ts';
import { isJsonObject, v0SettingsBody, type JsonObject } from '../../domain/settings-merge.ts';
import type { JsonValue, McpConfig, SettingsChange, SettingsSnapshot } from '../../domain/settings.ts';
import { isRecord } from '../../protocol/shape.ts';
import { isMissingRoute } from '../features.ts';
import type { Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { writeSecretsStore } from '../secrets-store.ts';
import type { Server } from '../server.ts';
import { refuseBadValues } from '../quirks/mistyped-setting.ts';
import { settingsMissing, settingsRefused } from '../settings-write.ts';

/** An empty text clears these; null would keep them. */
const CLEARED_BY_EMPTY = new Set(['llm_api_key', 'llm_model', 'llm_base_url', 'search_api_key']);

export function createSettingsV0(links: Links, _facts: ProbeFacts): Server['settings'] {
  return {
    async read() {
      return snapshot(await readRecord(links));
    },
    async write(change, beforeWrite) {
      refuseBadValues(SETTINGS_FIELDS, change);
      const record = await readRecord(links);
      const changes = changesOf(change, record ?? {});
      const store = change.set['secrets_store'];
      if (!('sandbox_api_key' in change.set) && record !== null) {
        links.notice(
          'V0 servers do not report whether sandbox_api_key is set, and drop it with every write: set it again if it was set',
        );
      }
      const body = v0SettingsBody(record ?? {}, changes);
      await beforeWrite?.();
      const answer = await links.app.request({
        method: 'POST',
        path: '/api/settings',
        body,
        safe: 'idempotent',
        accept: [400, 422, 500],
      });
      if (answer.status >= 400) throw settingsRefused(answer);
      if (store !== undefined || change.unset.includes('secrets_store'))
        await writeSecretsStore(links, 'v0', store ?? null);
      return snapshot(await readRecord(links));
    },
    schema: () => Promise.resolve([...SETTINGS_FIELDS]),
  };
}

/** Null while nothing is stored. */
async function readRecord(links: Links): Promise<JsonObject | null> {
  const answer = await links.app.request({ method: 'GET', path: '/api/settings', safe: 'read', accept: [404] });
  if (isMissingRoute(answer)) throw settingsMissing(answer);
  if (answer.status === 404) return null;
  if (!isRecord(answer.body)) throw new AppError('server', 'unexpected response: settings is not an object');
  return answer.body as JsonObject;
}

function snapshot(record: JsonObject | null): SettingsSnapshot {
  const values: SettingsSnapshot['values'] = {};
  const secrets: SettingsSnapshot['secrets'] = {};
  for (const field of SETTINGS_FIELDS) {
    if (field.secret) {
      secrets[field.name] = secretState(record, field.name);
      continue;
    }
    // V0 stores null for fields that were never set: without this a first write would be shown as a change of every field.
    const value = record === null ? (field.nullable ? null : field.default) : (record[field.name] ?? null);
    // V0 returns the keys of MCP servers in clear.
    values[field.name] = field.name === 'mcp_config' ? maskMcpConfig(value) : value;
  }
  return { stored: record !== null, values, secrets };
}

function secretState(record: JsonObject | null, name: string): 'set' | 'unset' | 'unknown' {
  if (record === null) return 'unset';
  if (name === 'secrets_store') {
    const providers = record['provider_tokens_set'];
    return isJsonObject(providers) && Object.keys(providers).length > 0 ? 'set' : 'unset';
  }
  const isSet = record[`${name}_set`];
  return typeof isSet === 'boolean' ? (isSet ? 'set' : 'unset') : 'unknown';
}

function changesOf(change: SettingsChange, stored: JsonObject): Map<string, JsonValue> {
  const changes = new Map<string, JsonValue>();
  for (const name of change.unset) {
    if (name === 'secrets_store') continue;
    if (name === 'user_consents_to_analytics')
      throw new AppError('unsupported', `V0 servers cannot unset ${name}; set it to true or false`);
    const field = SETTINGS_FIELDS.find((one) => one.name === name);
    changes.set(name, CLEARED_BY_EMPTY.has(name) ? '' : field?.nullable === false ? field.default : null);
  }
  for (const [name, value] of Object.entries(change.set)) {
    if (name === 'mcp_config' && value !== null) changes.set(name, mcpForWrite(value as McpConfig, stored, change));
    else changes.set(name, value === null && CLEARED_BY_EMPTY.has(name) ? '' : value);
  }
  return changes;
}

function mcpForWrite(wanted: McpConfig, stored: JsonObject, change: SettingsChange): JsonValue {
  const known = isJsonObject(stored['mcp_config']) ? (stored['mcp_config'] as McpConfig) : {};
  const { config, lost } = unmaskMcpConfig(wanted, known);
  if (lost.length > 0 && change.allow_loss === 'refuse') {
    throw new AppError('conflict', `these secrets of mcp_config are masked and would be lost: ${lost.join(', ')}`, {
      hint: 'give them again, or write without them with --allow-loss',
    });
  }
  return config as JsonObject;
}
