/** Tokens of git providers, for cloning; of the hosts only one with Forgejo gets requests. */
import type * as v from 'valibot';
import type { gitProviders } from '../../protocol/v0/requests.ts';
import type { Provider } from '../../protocol/v1/requests.ts';
import type { HttpError } from '../http/answer.ts';
import type { DocumentStore } from '../storage/documents.ts';
import { Forgejo } from './forgejo.ts';

export const PROVIDER_HOSTS: Partial<Record<Provider, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  forgejo: 'codeberg.org',
  azure_devops: 'dev.azure.com',
};

/** The URL of the host without a slash at its end; null: the provider has no known host. */
export function providerBase(provider: Provider, ownHost: string | null): string | null {
  const host = (ownHost ?? PROVIDER_HOSTS[provider])?.replace(/\/+$/, '');
  if (host === undefined) return null;
  return /^https?:\/\//i.test(host) ? host : `https://${host}`;
}

type ProviderTokens = Partial<Record<Provider, { token: string; host: string | null }>>;
export function readProviders(documents: DocumentStore): ProviderTokens {
  return (documents.read('git_providers') as ProviderTokens | null) ?? {};
}

/** Drops those left out; an empty token keeps the stored one. Throws `refusal`. */
export async function storeProviders(
  documents: DocumentStore,
  { provider_tokens }: v.InferOutput<typeof gitProviders>,
  refusal: (text: string) => HttpError,
): Promise<void> {
  const { token, host } = { ...provider_tokens?.forgejo };
  if (token && host && (await forgejoAt(host, token).refusesToken()))
    throw refusal('Invalid token. Please make sure it is a valid forgejo token.');
  const before = readProviders(documents);
  const after: ProviderTokens = {};
  for (const [name, input] of Object.entries(provider_tokens ?? {})) {
    const stored = before[name as Provider];
    const token = input.token || stored?.token;
    if (!token) continue;
    after[name as Provider] = { token, host: input.host ?? stored?.host ?? null };
  }
  documents.write('git_providers', after);
}

/** Null: there are tokens, and none is for a Forgejo host. Throws `noToken` without any token. */
export function searchedForgejo(
  documents: DocumentStore,
  noToken: HttpError,
  provider = 'forgejo',
): Forgejo | null {
  if (Object.keys(readProviders(documents)).length === 0) throw noToken;
  return provider === 'forgejo' ? connectedForgejo(documents) : null;
}

export function connectedForgejo(documents: DocumentStore): Forgejo | null {
  const { forgejo } = readProviders(documents);
  return forgejo === undefined ? null : forgejoAt(forgejo.host, forgejo.token);
}

function forgejoAt(host: string | null, token: string): Forgejo {
  return new Forgejo(providerBase('forgejo', host) ?? '', token);
}
