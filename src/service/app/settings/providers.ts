/** Tokens of git providers, for cloning from them. They are stored as given; only a Forgejo host of the user gets requests. */
import { PROVIDERS, type Provider } from '../../../protocol/v1/requests.ts';
import { createForgejo, ForgejoError, type Forgejo } from '../repositories/forgejo.ts';
import { providerBase } from '../repositories/repository.ts';
import type { Detail } from '../../../protocol/detail.ts';
import { invalid, type HttpError } from '../../http/answer.ts';
import type { DocumentStore } from '../../storage/documents.ts';

interface ProviderToken {
  token: string;
  host: string | null;
  user_id: string | null;
}
type ProviderTokens = Partial<Record<Provider, ProviderToken>>;

const DOCUMENT = 'git_providers';

export function readProviders(documents: DocumentStore): ProviderTokens {
  return (documents.read(DOCUMENT) as ProviderTokens | null) ?? {};
}

/** Host by provider, as settings show them; without tokens. */
export function providerHostsOf(documents: DocumentStore): Record<string, string | null> {
  return Object.fromEntries(Object.entries(readProviders(documents)).map(([name, { host }]) => [name, host]));
}

/** Token and host to clone with. */
export function providerAccess(
  documents: DocumentStore,
  provider: Provider,
): { token: string | null; host: string | null } {
  const stored = readProviders(documents)[provider];
  return { token: stored?.token ?? null, host: stored?.host ?? null };
}

/** What a search gets that needs a provider; `elsewhere`: there are tokens, and none is for a Forgejo host. */
export type Searched = Forgejo | 'no-token' | 'elsewhere';

/** @param provider the one that is searched; every one without it */
export function searchedProvider(documents: DocumentStore, provider?: string): Searched {
  if (Object.keys(readProviders(documents)).length === 0) return 'no-token';
  const found = provider === undefined || provider === 'forgejo' ? connectedForgejo(documents) : null;
  return found ?? 'elsewhere';
}

export const SEARCHES_FORGEJO =
  'the local service clones with tokens of other providers, and searches Forgejo hosts only';

/** The Forgejo host that a token is stored for; null: none. */
export function connectedForgejo(documents: DocumentStore): Forgejo | null {
  const { token, host } = providerAccess(documents, 'forgejo');
  const base = providerBase('forgejo', host);
  return token === null || base === null ? null : createForgejo(base, token);
}

/** A provider whose host refuses the token; null: none. A host that does not answer refuses nothing. */
async function refusingProvider(given: Record<string, GivenToken>): Promise<Provider | null> {
  const { token, host } = given.forgejo ?? {};
  const base = providerBase('forgejo', host ?? null);
  if (!token || !host || base === null) return null;
  try {
    await createForgejo(base, token).checkToken();
    return null;
  } catch (error) {
    if (!(error instanceof ForgejoError)) throw error;
    return error.status === 401 || error.status === 403 ? 'forgejo' : null;
  }
}

interface GivenToken {
  token?: string | null;
  host?: string | null;
  user_id?: string | null;
}

/** What is wrong with the names of the providers; empty: nothing. */
function unknownProviders(given: Record<string, GivenToken>): Detail[] {
  const expected = `${PROVIDERS.slice(0, -1)
    .map((name) => `'${name}'`)
    .join(', ')} or '${PROVIDERS.at(-1)}'`;
  return Object.keys(given)
    .filter((name) => !(PROVIDERS as readonly string[]).includes(name))
    .map((name) => ({
      type: 'enum',
      loc: ['body', 'provider_tokens', name, '[key]'],
      msg: `Input should be ${expected}`,
      input: name,
      ctx: { expected },
    }));
}

/**
 * Checks tokens and stores them.
 * @param refused the error for a token that its provider refuses
 */
export async function storeProviders(
  documents: DocumentStore,
  given: Record<string, GivenToken>,
  refused: (text: string) => HttpError,
): Promise<void> {
  const wrong = unknownProviders(given);
  if (wrong.length > 0) throw invalid(wrong);
  const refusing = await refusingProvider(given);
  if (refusing !== null) throw refused(`Invalid token. Please make sure it is a valid ${refusing} token.`);
  replaceProviders(documents, given);
}

/** Replaces the map: providers left out are dropped, one with an empty token keeps its own. */
export function replaceProviders(documents: DocumentStore, given: Record<string, GivenToken>): void {
  const before = readProviders(documents);
  const after: ProviderTokens = {};
  for (const [name, { token, host, user_id }] of Object.entries(given) as [Provider, GivenToken][]) {
    const kept = token || before[name]?.token;
    if (kept) after[name] = { token: kept, host: host ?? before[name]?.host ?? null, user_id: user_id ?? null };
  }
  documents.write(DOCUMENT, after);
}
