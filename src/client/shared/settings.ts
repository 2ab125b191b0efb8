import { AppError, isAppError } from '../../base/errors.ts';
import { restoreMcpSecrets } from '../../domain/mcp-config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type SettingsChange,
} from '../../domain/settings.ts';
import { isMissingRoute, serverText, errorBy } from '../http/answer.ts';
import type { Links } from './links.ts';
import { settingsError } from './quirks/mistyped-setting.ts';

export const SETTINGS_ROUTES = { v0: '/api/settings', v1: '/api/v1/settings' };

/** Null while nothing is stored. Throws `unsupported` where the server has no such route. */
export async function readSettingsRecord(
  links: Links,
  dialect: 'v0' | 'v1',
): Promise<JsonObject | null> {
  const call = {
    method: 'GET',
    path: SETTINGS_ROUTES[dialect],
    safe: 'read',
    accept: [404],
  } as const;
  const answer = await links.app.request(call).catch(async (error: unknown): Promise<never> => {
    throw isAppError(error) && error.details.status === 500
      ? await settingsError(links, error)
      : error;
  });
  if (isMissingRoute(answer))
    throw errorBy(answer, 'unsupported', 'this server has no settings that can be read');
  if (answer.status === 404) return null;
  if (!isJsonObject(answer.body as JsonValue))
    throw new AppError('server', 'unexpected response: settings is not an object');
  return answer.body as JsonObject;
}

/** 400 and 422 are about the values of the user; a 500 may be (interface 2.6). */
export async function writeSettings(
  links: Links,
  dialect: 'v0' | 'v1',
  body: JsonObject,
): Promise<void> {
  const call = {
    method: 'POST',
    path: SETTINGS_ROUTES[dialect],
    body,
    safe: 'idempotent',
  } as const;
  const answer = await links.app.request({ ...call, accept: [400, 422, 500] });
  const { status, request } = answer;
  if (status < 400) return;
  const text = serverText(answer.body) ?? `status ${status}`;
  if (status !== 500)
    throw new AppError('usage', `the server refuses these settings: ${text}`, { status, request });
  const hint = 'a value may be one that the server does not accept; see: acs settings schema';
  throw new AppError('server', `the server did not store the settings: ${text}`, {
    status,
    request,
    hint,
  });
}

export function hasProviderTokens(record: JsonObject): boolean {
  return Object.keys(record['provider_tokens_set'] ?? {}).length > 0;
}

/** Throws `conflict` where a stored secret would be lost. */
export function mcpForWrite(
  wanted: JsonValue,
  stored: JsonValue,
  { allow_loss }: SettingsChange,
): JsonValue {
  if (wanted === null) return null;
  const { config, lost } = restoreMcpSecrets(wanted, stored);
  if (lost.length === 0 || allow_loss === 'allow') return config;
  const message =
    `these secrets of mcp_config cannot be read back and would be lost: ` + `${lost.join(', ')}`;
  throw new AppError('conflict', message, {
    hint: 'give them again, or write without them with --allow-loss',
  });
}
