/** The secrets of the user that a sandbox may read, at both servers (interface section 5.5). */
import { refuse } from '../http/answer.ts';
import type { Store } from '../storage/index.ts';
import { readProviders } from './git-providers.ts';

type UserSecrets = ReadonlyMap<string, { value: string; description: string }>;

/** Keys are names. A secret has precedence over the token of a git provider of the same name. */
export function userSecrets({
  documents,
  secrets,
}: Pick<Store, 'documents' | 'secrets'>): UserSecrets {
  const values = secrets.values();
  const own = secrets.list().map(({ name, description }) => {
    return [name, { value: values[name] ?? '', description }] as const;
  });
  const tokens = Object.entries(readProviders(documents)).map(([provider, { token }]) => {
    return [`${provider}_token`, { value: token, description: 'Token of a git provider' }] as const;
  });
  const names = new Set(own.map(([name]) => name));
  return new Map([...own, ...tokens.filter(([name]) => !names.has(name))]);
}

export function shownSecrets(secrets: UserSecrets) {
  return { secrets: [...secrets].map(([name, { description }]) => ({ name, description })) };
}

export function secretValue(secrets: UserSecrets, name = ''): Response {
  const secret = secrets.get(name);
  if (secret === undefined) throw refuse(404, 'Secret not found');
  return new Response(secret.value, { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}
