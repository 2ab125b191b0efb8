/** `secrets_store` where servers take it: the routes of git providers and secrets (interface 2.4, 2.8). */
import { toSecretsStore } from '../domain/secrets-store.ts';
import type { Dialect } from '../domain/conversation.ts';
import type { JsonValue } from '../domain/settings.ts';
import { addTokens, dropTokens } from './git/providers.ts';
import type { Links } from './links.ts';
import { storeSecret } from './secrets.ts';

/** Writes the parts; null takes the provider tokens away. Secrets that are not named stay. */
export async function writeSecretsStore(links: Links, dialect: Dialect, value: JsonValue): Promise<void> {
  if (value === null) return await dropTokens(links, dialect);
  const store = toSecretsStore(value);
  if (Object.keys(store.provider_tokens).length > 0) await addTokens(links, dialect, store.provider_tokens);
  for (const [name, { secret, description }] of Object.entries(store.custom_secrets)) {
    await storeSecret(links, dialect, { name, value: secret, description: description ?? null });
  }
}
