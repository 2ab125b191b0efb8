/** Over the routes of V1 where the server has them, else over those of V0. */
import { AppError, isFailure, nullIf } from '../../base/errors.ts';
import type { Branch, GitProvider, Repository } from '../../domain/git-provider.ts';
import type { Page } from '../../domain/pages.ts';
import { normalizeTime } from '../../base/text/time.ts';
import {
  asList,
  asRecord,
  isRecord,
  optionalNumber,
  optionalRecord,
  optionalText,
  readPage,
  requiredText,
} from '../../protocol/shape.ts';
import type { Query } from '../http/address.ts';
import { type Answer, isMissingRoute, reasonOf, errorBy } from '../http/answer.ts';
import type { CallOptions } from '../http/call.ts';
import { read, type Links } from '../shared/links.ts';
import { pageWithDropped } from './quirks/dropped-last-item.ts';
import type { BranchQuery, RepositoryQuery, Server } from '../shared/server.ts';

type Git = Server['git'];
type Lookups = Pick<Git, 'repositories' | 'branches'>;

export function createGit(links: Links): Git {
  const { dialects, features } = links.facts;
  const hasV1 = dialects.includes('v1') && features['v1-git'] === 'present';
  const isV1 = !dialects.includes('v0') || hasV1;
  return {
    ...createProviders(links, isV1 ? ROUTES.v1 : ROUTES.v0),
    ...(isV1 ? createLookupsV1(links) : createLookupsV0(links)),
  };
}

const ROUTES = {
  v0: {
    settings: '/api/settings',
    add: '/api/add-git-providers',
    drop: { method: 'POST', path: '/api/unset-provider-tokens' },
    tasks: '/api/user/suggested-tasks',
  },
  v1: {
    settings: '/api/v1/settings',
    add: '/api/v1/secrets/git-providers',
    drop: { method: 'DELETE', path: '/api/v1/secrets/git-providers' },
    tasks: '/api/v1/git/suggested-tasks/search?limit=1',
  },
} as const;

function lacks(routes: string): AppError {
  return new AppError('unsupported', `this server has no routes for ${routes}`);
}

type Routes = (typeof ROUTES)[keyof typeof ROUTES];

async function readReported({ app }: Links, routes: Routes): Promise<GitProvider[] | null> {
  const answer = await app.request({ path: routes.settings, accept: [404] });
  if (isMissingRoute(answer))
    throw errorBy(answer, 'unsupported', 'this server has no settings that can be read');
  if (answer.status === 404) return null;
  const hosts = read(answer, (body) =>
    optionalRecord(asRecord(body, 'settings'), 'provider_tokens_set', 'settings'),
  );
  return Object.entries(hosts ?? {}).map(([git_provider, host]) => ({
    git_provider,
    host: typeof host === 'string' ? host : null,
  }));
}

/** A write replaces all tokens; an empty one with its own host keeps the old (interface 2.4). */
function createProviders(
  links: Links,
  routes: Routes,
): Pick<Git, 'providers' | 'connect' | 'disconnect'> {
  const presence = links.facts.features['git-providers'];
  const readProviders = async (loss: 'refuse' | 'allow'): Promise<GitProvider[]> => {
    if (presence === 'absent') throw lacks('tokens of git providers');
    const reported = await readReported(links, routes);
    if (reported !== null) return reported;
    // The list of suggested tasks is refused while there is no token at all.
    const accept = [401, 403, 404, 500];
    const { status } = await links.app.request({ path: routes.tasks, mayBeMissing: true, accept });
    if (status === 401 || status === 403 || loss === 'allow') return [];
    const message = 'the server has tokens for git providers and does not report which';
    throw new AppError('conflict', message, {
      hint:
        'a server reports them once it has settings: store one, for example with acs settings ' +
        'set language=en',
    });
  };
  const send = async (call: Pick<CallOptions, 'method' | 'path' | 'body'>): Promise<Answer> => {
    const accept = [400, 401, 404, 405, 422];
    const mayBeMissing = presence !== 'present';
    const answer = await links.app.request({ ...call, safe: 'idempotent', mayBeMissing, accept });
    if (isMissingRoute(answer)) throw lacks('tokens of git providers');
    return answer;
  };
  const write = async (kept: readonly GitProvider[], added: Record<string, object> = {}) => {
    const old = kept.map(({ git_provider, host }) => [git_provider, { token: '', host }] as const);
    const body = { provider_tokens: { ...Object.fromEntries(old), ...added } };
    refuseErrors(await send({ method: 'POST', path: routes.add, body }));
  };
  /** Throws `server`, and `conflict` for a token that stays. A list that cannot be read is not. */
  const checkStored = async (expected: readonly string[], removed?: string): Promise<void> => {
    const after = await readReported(links, routes).catch(nullIf(isFailure));
    const stored = after?.map(({ git_provider }) => git_provider);
    if (removed !== undefined && stored?.includes(removed))
      throw new AppError('conflict', `the server still has a token for ${removed}`);
    const missing = expected.filter((name) => stored?.includes(name) === false);
    if (missing.length === 0) return;
    const message = `the server accepted the change and has no token for ${missing.join(', ')} now`;
    throw new AppError('server', message, {
      hint: 'store it again: acs git-provider set <provider>',
    });
  };
  const namesOf = (providers: readonly GitProvider[]) =>
    providers.map(({ git_provider }) => git_provider);
  return {
    providers: () => readProviders('refuse'),
    async connect({ git_provider, token, host: newHost }, loss) {
      links.network.redaction.add(token);
      const before = await readProviders(loss);
      const old = before.find((each) => each.git_provider === git_provider);
      const host = newHost ?? old?.host ?? null;
      await write(before, { [git_provider]: { token, host } });
      await checkStored([...namesOf(before), git_provider]);
      return { git_provider, host, before: old === undefined ? 'absent' : 'present' };
    },
    async disconnect(name, loss) {
      const before = await readProviders(loss);
      const others = before.filter(({ git_provider }) => git_provider !== name);
      if (others.length > 0) await write(others);
      else await send(routes.drop);
      await checkStored(namesOf(others), name);
    },
  };
}

/** The server has accepted the key right before: a 401 is about the token. */
function refuseErrors(answer: Answer): void {
  if (answer.status < 400) return;
  const reason = reasonOf(answer);
  if (answer.status !== 401) throw errorBy(answer, 'usage', `the server refuses this: ${reason}`);
  throw errorBy(answer, 'auth', `the server refuses the token: ${reason}`, {
    hint:
      'a server tries a token at its provider before it stores it: check the token, its expiry ' +
      'and --host',
  });
}

/** Servers pass the size on to the provider, which cuts a larger one without a word. */
function pageSizeOf(provider: string, wanted = 100): number {
  return Math.min(wanted, provider === 'forgejo' ? 50 : 100);
}

function createLookupsV1(links: Links): Lookups {
  const search = async <T>(
    path: string,
    { git_provider: provider, search: text, ...of }: RepositoryQuery | BranchQuery,
    reader: (value: unknown) => T,
    page: string | null,
    pageSize?: number,
  ) => {
    // Providers cut a page at their own size, and the server requests one item more than its limit.
    const largest = pageSizeOf(provider) - 1;
    const fetch = async (page_id: string | null, limit: number) => {
      const answer = await lookUp(links, path, { provider, ...of, query: text, page_id, limit });
      return read(answer, (body) => readPage(body, 'list', reader));
    };
    if (!text) {
      const limit = Math.max(2, Math.min(pageSize ?? largest, largest));
      return await pageWithDropped(page, limit, fetch);
    }
    // A search has no second page: the server answers with the first one again, or with 400.
    const { items, next } = await fetch(null, largest);
    return { items, next: null, isCut: next !== null };
  };
  return {
    repositories: (query, page, pageSize) =>
      search('/api/v1/git/repositories/search', query, readRepository, page, pageSize),
    branches: ({ search: text = '', ...query }, page, pageSize) =>
      search('/api/v1/git/branches/search', { ...query, search: text }, readBranch, page, pageSize),
  };
}

function createLookupsV0(links: Links): Lookups {
  const searchPage = <T>(
    answer: Answer,
    reader: (value: unknown) => T,
    perPage: number,
  ): Page<T> => {
    const items = read(answer, (body) => asList(body, 'list').map(reader));
    return { items, next: null, isCut: items.length >= perPage };
  };
  return {
    async repositories({ git_provider: selected_provider, search: text }, page, pageSize) {
      if (text !== undefined) {
        const per_page = pageSizeOf(selected_provider);
        const query = { query: text, selected_provider, per_page };
        const answer = await lookUp(links, '/api/user/search/repositories', query);
        return searchPage(answer, readRepository, per_page);
      }
      const per_page = pageSizeOf(selected_provider, pageSize);
      const number = Number(page ?? 1);
      const query = { selected_provider, sort: 'pushed', page: number, per_page };
      const answer = await lookUp(links, '/api/user/repositories', query);
      const items = read(answer, (body) => asList(body, 'repositories').map(readRepository));
      // The `Link` header of the provider; without one a full page may not be the last.
      const [first] = answer.body as unknown[];
      const header = isRecord(first) ? first['link_header'] : null;
      const hasNext =
        typeof header === 'string' ? header.includes('rel="next"') : items.length === per_page;
      return { items, next: hasNext ? String(number + 1) : null };
    },
    async branches(
      { git_provider: selected_provider, repository, search: text = '' },
      page,
      pageSize,
    ) {
      if (text !== '') {
        const per_page = pageSizeOf(selected_provider);
        const query = { repository, query: text, selected_provider, per_page };
        const answer = await request(links, '/api/user/search/branches', query, true);
        // 0.53 has no search of branches: its whole list is filtered.
        if (answer !== null) return searchPage(answer, readBranch, per_page);
      }
      const per_page = pageSizeOf(selected_provider, pageSize);
      const number = Number(page ?? 1);
      const query = { repository, page: number, per_page, selected_provider };
      const answer = await lookUp(links, '/api/user/repository/branches', query);
      return read(answer, (body) => {
        // 0.53 answers with the whole list, later releases with a page.
        const { branches, has_next_page } = Array.isArray(body)
          ? { branches: body }
          : asRecord(body, 'branches');
        const items = asList(branches, 'branches')
          .map(readBranch)
          .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
        return { items, next: has_next_page === true ? String(number + 1) : null };
      });
    },
  };
}

async function lookUp(links: Links, path: string, query: Query): Promise<Answer> {
  const answer = await request(links, path, query);
  if (answer === null) throw lacks('repositories');
  return answer;
}

async function request(
  links: Links,
  path: string,
  query: Query,
  mayBeMissing = links.facts.features.repositories !== 'present',
): Promise<Answer | null> {
  if (links.facts.features.repositories === 'absent') return null;
  const answer = await links.app.request({ path, query, mayBeMissing, accept: [404, 405] });
  if (isMissingRoute(answer)) return null;
  if (answer.status < 400) return answer;
  throw errorBy(answer, 'not-found', `the git provider has no such thing: ${reasonOf(answer)}`);
}

function readRepository(value: unknown): Repository {
  const subject = 'repository';
  const record = asRecord(value, subject);
  return {
    name: requiredText(record, 'full_name', subject),
    git_provider: requiredText(record, 'git_provider', subject),
    public: record['is_public'] === true,
    default_branch: optionalText(record, 'main_branch', subject),
    stars: optionalNumber(record, 'stargazers_count', subject),
    pushed_at: normalizeTime(optionalText(record, 'pushed_at', subject)),
  };
}

function readBranch(value: unknown): Branch {
  const subject = 'branch';
  const record = asRecord(value, subject);
  return {
    name: requiredText(record, 'name', subject),
    commit: optionalText(record, 'commit_sha', subject),
    protected: record['protected'] === true,
    pushed_at: normalizeTime(optionalText(record, 'last_push_date', subject)),
  };
}
