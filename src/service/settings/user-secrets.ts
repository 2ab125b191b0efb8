/**
 * What a sandbox may read of the user's secrets (interface section 5.5), at the app server and at
 * its agent server.
 */
import { refuse } from '../http/answer.ts';
import type { Store } from '../storage/index.ts';
import { readProviders } from './git-providers.ts';

type UserSecrets = ReadonlyMap<string, { value: string; description: string }>;

/**
 * The user's own by name, then the tokens of git providers, of which an own secret with the same
 * name has precedence.
 */
export function userSecrets({
  documents,
  secrets,
}: Pick<Store, 'documents' | 'secrets'>): UserSecrets {
  const values = secrets.values();
  const all = new Map(
    secrets
      .list()
      .map(({ name, description }) => [name, { value: values[name] ?? '', description }]),
  );
  for (const [provider, { token }] of Object.entries(readProviders(documents))) {
    const name = `${provider}_token`;
    if (!all.has(name)) all.set(name, { value: token, description: 'Token of a git provider' });
  }
  return all;
}

export function shownSecrets(secrets: UserSecrets) {
  return { secrets: [...secrets].map(([name, { description }]) => ({ name, description })) };
}

/** An answer with the value; throws a 404 for an unknown name. */
export function secretValue(secrets: UserSecrets, name = ''): Response {
  const secret = secrets.get(name);
  if (secret === undefined) throw refuse(404, 'Secret not found');
  return new Response(secret.value, { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}
