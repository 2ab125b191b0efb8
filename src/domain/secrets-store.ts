/**
 * `secrets_store`: tokens of git providers and custom secrets (interface 2.2, 2.4). Servers drop it from the body of
 * the settings, so its parts are written where they are taken: see the settings of each adapter.
 */
import type { JsonValue } from './settings.ts';

export interface SecretsStore {
  provider_tokens: Record<string, { token?: string | null; host?: string | null; user_id?: string | null }>;
  custom_secrets: Record<string, { secret: string; description?: string | null }>;
}

type JsonObject = { [key: string]: JsonValue };

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is wrong with it, or null. */
export function checkSecretsStore(value: JsonValue): string | null {
  if (!isObject(value)) return 'must be an object';
  const unknown = Object.keys(value).find((key) => key !== 'provider_tokens' && key !== 'custom_secrets');
  if (unknown !== undefined) return `has no member ${unknown}; it has provider_tokens and custom_secrets`;
  const { provider_tokens: tokens = {}, custom_secrets: secrets = {} } = value;
  if (!isObject(tokens)) return 'provider_tokens must be an object';
  if (!isObject(secrets)) return 'custom_secrets must be an object';
  for (const [name, token] of Object.entries(tokens)) {
    if (!isObject(token)) return `provider_tokens.${name} must be an object {token, host, user_id}`;
    for (const member of ['token', 'host', 'user_id']) {
      if (typeof (token[member] ?? '') !== 'string') return `provider_tokens.${name}.${member} must be a text`;
    }
  }
  for (const [name, secret] of Object.entries(secrets)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `custom_secrets.${name} is not the name of a variable`;
    if (!isObject(secret) || typeof secret['secret'] !== 'string')
      return `custom_secrets.${name} must be an object {secret, description}`;
    if (typeof (secret['description'] ?? '') !== 'string') return `custom_secrets.${name}.description must be a text`;
  }
  return null;
}

/** After checkSecretsStore has found nothing wrong. */
export function toSecretsStore(value: JsonValue): SecretsStore {
  const { provider_tokens = {}, custom_secrets = {} } = value as unknown as Partial<SecretsStore>;
  return { provider_tokens, custom_secrets };
}
