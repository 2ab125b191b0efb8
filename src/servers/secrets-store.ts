/** `secrets_store` where servers take it: the routes of git providers and secrets (interface 2.4, 2.8). */
import { toSecretsStore } from '../domain/secrets-store.ts';
import type { Dialect } from '../domain/conversation.ts';
import type { JsonValue } from '../domain/settings.ts';
import { isRecord } from '../protocol/shape.ts';
import type { Links } from './links.ts';
import { storeSecret } from './secrets.ts';
import { settingsRefused } from './settings-write.ts';
import type { Call } from './transport/call.ts';

interface Routes {
  settings: string;
  addProviders: string;
  dropProviders: Pick<Call, 'method' | 'path'>;
}

const ROUTES: Record<Dialect, Routes> = {
  v0: {
    settings: '/api/settings',
    addProviders: '/api/add-git-providers',
    dropProviders: { method: 'POST', path: '/api/unset-provider-tokens' },
  },
  v1: {
    settings: '/api/v1/settings',
    addProviders: '/api/v1/secrets/git-providers',
    dropProviders: { method: 'DELETE', path: '/api/v1/secrets/git-providers' },
  },
};

/** Writes the parts; null takes the provider tokens away. Secrets that are not named stay. */
export async function writeSecretsStore(links: Links, dialect: Dialect, value: JsonValue): Promise<void> {
  const routes = ROUTES[dialect];
  if (value === null) {
    await links.app.request({ ...routes.dropProviders, safe: 'idempotent' });
    return;
  }
  const store = toSecretsStore(value);
  if (Object.keys(store.provider_tokens).length > 0) {
    const provider_tokens = { ...(await keptProviders(links, routes)), ...store.provider_tokens };
    await post(links, routes.addProviders, { provider_tokens });
  }
  for (const [name, { secret, description }] of Object.entries(store.custom_secrets)) {
    await storeSecret(links, dialect, { name, value: secret, description: description ?? null });
  }
}

/** The map is replaced as a whole; a provider sent with an empty token keeps the one that is stored. */
async function keptProviders(
  links: Links,
  routes: Routes,
): Promise<Record<string, { token: string; host: string | null }>> {
  const answer = await links.app.request({ method: 'GET', path: routes.settings, safe: 'read', accept: [404] });
  const set =
    isRecord(answer.body) && isRecord(answer.body['provider_tokens_set']) ? answer.body['provider_tokens_set'] : {};
  return Object.fromEntries(
    Object.entries(set).map(([name, host]) => [name, { token: '', host: typeof host === 'string' ? host : null }]),
  );
}

async function post(links: Links, path: string, body: Record<string, unknown>): Promise<void> {
  const answer = await links.app.request({
    method: 'POST',
    path,
    body,
    safe: 'idempotent',
    accept: [400, 401, 422],
  });
  if (answer.status >= 400) throw settingsRefused(answer);
}
