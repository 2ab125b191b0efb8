/**
 * Tokens of git providers, stored as they are given, for cloning. Only a Forgejo host that the user
 * runs gets requests: it is searched, and a token for it is checked.
 */
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { isRecord, type Json } from '../../protocol/shape.ts';
import { PROVIDERS, type Provider } from '../../protocol/v1/requests.ts';
import { invalid, type HttpError } from '../http/answer.ts';
import type { DocumentStore } from '../storage/documents.ts';

export const PROVIDER_HOSTS: Partial<Record<Provider, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  forgejo: 'codeberg.org',
  azure_devops: 'dev.azure.com',
};

export function providerBase(provider: Provider, host: string | null): string | null {
  const known = (host ?? PROVIDER_HOSTS[provider])?.replace(/\/+$/, '');
  if (known === undefined) return null;
  return /^https?:\/\//i.test(known) ? known : `https://${known}`;
}

type ProviderTokens = Partial<
  Record<Provider, { token: string; host: string | null; user_id: string | null }>
>;
type GivenTokens = Record<
  string,
  { token?: string | null; host?: string | null; user_id?: string | null }
>;

export function readProviders(documents: DocumentStore): ProviderTokens {
  return (documents.read('git_providers') as ProviderTokens | null) ?? {};
}

/**
 * A host that does not answer refuses nothing. `refused`: the error for a token that its provider
 * refuses.
 */
export async function storeProviders(
  documents: DocumentStore,
  given: GivenTokens,
  refused: (text: string) => HttpError,
): Promise<void> {
  const unknown = Object.keys(given).filter(
    (name) => !(PROVIDERS as readonly string[]).includes(name),
  );
  if (unknown.length > 0) {
    const expected = PROVIDERS.map((name) => `'${name}'`)
      .join(', ')
      .replace(/, (?=[^,]*$)/, ' or ');
    const loc = (name: string) => ['body', 'provider_tokens', name, '[key]'];
    const msg = `Input should be ${expected}`;
    throw invalid(
      unknown.map((name) => ({
        type: 'enum',
        loc: loc(name),
        msg,
        input: name,
        ctx: { expected },
      })),
    );
  }
  const { token, host } = given.forgejo ?? {};
  if (token && host) {
    const checked = createForgejo(providerBase('forgejo', host) ?? '', token).checkToken();
    const refusal = await checked.catch((error: unknown) => {
      if (error instanceof ForgejoError) return error.status;
      throw error;
    });
    if (refusal === 401 || refusal === 403) {
      throw refused('Invalid token. Please make sure it is a valid forgejo token.');
    }
  }
  replaceProviders(documents, given);
}

/** Replaces the map: providers left out are dropped, one with an empty token keeps its own. */
export function replaceProviders(documents: DocumentStore, given: GivenTokens): void {
  const before = readProviders(documents);
  const after: ProviderTokens = {};
  for (const [name, { token, host, user_id }] of Object.entries(given) as [
    Provider,
    GivenTokens[string],
  ][]) {
    const kept = token || before[name]?.token;
    if (kept)
      after[name] = {
        token: kept,
        host: host ?? before[name]?.host ?? null,
        user_id: user_id ?? null,
      };
  }
  documents.write('git_providers', after);
}

/**
 * Null: there are tokens, and none is for a Forgejo host. Throws `noToken` where there is no token
 * at all.
 */
export function searchedForgejo(
  documents: DocumentStore,
  noToken: HttpError,
  provider?: string,
): Forgejo | null {
  if (Object.keys(readProviders(documents)).length === 0) throw noToken;
  return provider === undefined || provider === 'forgejo' ? connectedForgejo(documents) : null;
}

export function connectedForgejo(documents: DocumentStore): Forgejo | null {
  const { forgejo } = readProviders(documents);
  return forgejo === undefined
    ? null
    : createForgejo(providerBase('forgejo', forgejo.host) ?? '', forgejo.token);
}

/**
 * The host did not answer, or answered with an error. `status` is its own; null: there was no
 * answer.
 */
export class ForgejoError extends Error {
  override readonly name = 'ForgejoError';
  readonly status: number | null;

  constructor(message: string, status: number | null) {
    super(message);
    this.status = status;
  }
}

const PAGE = 50;
const MAX_PAGES = 20;

export type Forgejo = ReturnType<typeof createForgejo>;

/** Every call throws ForgejoError; `checkToken` with 401 or 403 when the token is refused. */
function createForgejo(base: string, token: string) {
  const ask = async (path: string): Promise<unknown> => {
    let status: number | null = null;
    try {
      const url = new URL(`${base}/api/v1${path}`);
      const headers = { Authorization: `token ${token}`, Accept: 'application/json' };
      // For all of one answer: a host may drip it without ever being silent.
      const signal = AbortSignal.timeout(10_000);
      const outgoing = (url.protocol === 'https:' ? https : http)
        .request(url, { headers, signal })
        .end();
      outgoing.on('error', () => undefined);
      // A connection that changes its protocol closes without an answer and without an error.
      outgoing.on('close', () =>
        outgoing.emit('error', new Error(`${url.host} closed the connection`)),
      );
      const [incoming] = (await once(outgoing, 'response')) as [http.IncomingMessage];
      status = incoming.statusCode ?? 0;
      let body = '';
      for await (const chunk of incoming.setEncoding('utf8') as AsyncIterable<string>)
        body += chunk;
      if (status === 200) return JSON.parse(body);
    } catch (error) {
      throw new ForgejoError((error as Error).message, status);
    }
    throw new ForgejoError(`the host answered ${status}`, status);
  };
  const all = async (path: string): Promise<Json[]> => {
    const found: Json[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const answer = await ask(
        `${path}${path.includes('?') ? '&' : '?'}page=${page}&limit=${PAGE}`,
      );
      const list = Array.isArray(answer) ? (answer as unknown[]) : members(answer).data;
      const items = Array.isArray(list) ? list.map(members) : [];
      found.push(...items);
      if (items.length < PAGE) break;
    }
    return found;
  };
  /** A 404 is answered with `missing`. */
  const orMissing = async <T>(asked: Promise<T>, missing: T): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof ForgejoError && error.status === 404) return missing;
      throw error;
    }
  };
  const at = (repository: string): string =>
    `/repos/${repository.split('/').map(encodeURIComponent).join('/')}`;
  return {
    checkToken: () => ask('/user').then(() => null),
    async repositories(query: string) {
      const path = query === '' ? '/user/repos' : `/repos/search?q=${encodeURIComponent(query)}`;
      return (await all(path)).map((found) => ({
        id: String(found.id),
        full_name: text(found.full_name),
        git_provider: 'forgejo',
        is_public: found.private !== true,
        stargazers_count: Number(found.stars_count ?? 0),
        link_header: null,
        pushed_at: text(found.updated_at) || null,
        owner_type: members(found.owner).type === 'Organization' ? 'organization' : 'user',
        main_branch: text(found.default_branch) || null,
      }));
    },
    hasRepository: async (name: string) => (await orMissing(ask(at(name)), null)) !== null,
    /** None of a repository that the host does not have, as genuine servers answer. */
    async branches(repository: string, query: string) {
      const branches = (await orMissing(all(`${at(repository)}/branches`), [])).map((found) => ({
        name: text(found.name),
        commit_sha: text(members(found.commit).id),
        protected: found.protected === true,
        last_push_date: null,
      }));
      return branches.filter(({ name }) => name.includes(query));
    },
    async tasks() {
      // An old host has no search for issues.
      const issues = await orMissing(
        all('/repos/issues/search?type=issues&state=open&assigned=true'),
        [],
      );
      return issues.map((found) => ({
        git_provider: 'forgejo',
        task_type: 'OPEN_ISSUE',
        repo: text(members(found.repository).full_name),
        issue_number: Number(found.number),
        title: text(found.title),
      }));
    },
  };
}

function members(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
