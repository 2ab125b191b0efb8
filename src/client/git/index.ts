/** Over the routes of V1 where the server has them, else over those of V0. */
import { AppError, isFailure } from '../../base/errors.ts';
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
import type { ProbeFacts } from '../shared/features.ts';
import type { Query } from '../http/address.ts';
import { type Answer, isMissingRoute, reasonOf, errorBy } from '../http/answer.ts';
import type { Call } from '../http/call.ts';
import { read, type Links } from '../shared/links.ts';
import { pageWithDropped } from './quirks/dropped-last-item.ts';
import type { BranchQuery, RepositoryQuery, Server } from '../shared/server.ts';

type Git = Server['git'];
type Lookups = Pick<Git, 'repositories' | 'branches'>;

export function createGit(links: Links, { dialects, features }: ProbeFacts): Git {
  const isV1 =
    !dialects.includes('v0') || (dialects.includes('v1') && features['v1-git'] === 'present');
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

/**
 * A write replaces the map; an empty token with its own host keeps the stored token (interface 2.4,
 * 2.8).
 */
function createProviders(
  links: Links,
  routes: (typeof ROUTES)[keyof typeof ROUTES],
): Pick<Git, 'providers' | 'connect' | 'disconnect'> {
  const presence = links.features.of('git-providers');
  const lacksProviders = () => lacks('tokens of git providers');

  /** Null while the server has no settings: their record has the providers. */
  const readReported = async (): Promise<GitProvider[] | null> => {
    if (presence === 'absent') throw lacksProviders();
    const answer = await links.app.request({
      method: 'GET',
      path: routes.settings,
      safe: 'read',
      accept: [404],
    });
    if (isMissingRoute(answer))
      throw errorBy(answer, 'unsupported', 'this server has no settings that can be read');
    if (answer.status === 404) return null;
    const set = read(answer, (body) =>
      optionalRecord(asRecord(body, 'settings'), 'provider_tokens_set', 'settings'),
    );
    return Object.entries(set ?? {}).map(([git_provider, host]) => ({
      git_provider,
      host: typeof host === 'string' ? host : null,
    }));
  };
  const readProviders = async (loss: 'refuse' | 'allow'): Promise<GitProvider[]> => {
    const reported = await readReported();
    if (reported !== null) return reported;
    // The list of suggested tasks is refused while there is no token at all.
    const accept = [401, 403, 404, 500];
    const call = {
      method: 'GET',
      path: routes.tasks,
      safe: 'read',
      mayBeMissing: true,
      accept,
    } as const;
    const { status } = await links.app.request(call);
    if (status === 401 || status === 403 || loss === 'allow') return [];
    throw new AppError(
      'conflict',
      'the server has tokens for git providers and does not report which',
      {
        hint:
          'a server reports them once it has settings: store one, for example with acs ' +
          'settings set language=en',
      },
    );
  };
  const send = async (call: Pick<Call, 'method' | 'path' | 'body'>): Promise<Answer> => {
    const accept = [400, 401, 404, 405, 422];
    const mayBeMissing = presence !== 'present';
    const answer = await links.app.request({ ...call, safe: 'idempotent', mayBeMissing, accept });
    if (isMissingRoute(answer)) throw lacksProviders();
    return answer;
  };
  /** The host of a stored token has to be the stored one: else the server tries the token there. */
  const write = async (
    kept: readonly GitProvider[],
    added: Record<string, object> = {},
  ): Promise<void> => {
    const old = kept.map(({ git_provider, host }) => [git_provider, { token: '', host }] as const);
    const body = { provider_tokens: { ...Object.fromEntries(old), ...added } };
    const answer = await send({ method: 'POST', path: routes.add, body });
    const { status, request } = answer;
    // The key has just been accepted, for the read of the providers.
    if (status === 401)
      throw new AppError('auth', `the server refuses the token: ${reasonOf(answer)}`, {
        status,
        request,
        hint:
          'a server tries a token at its provider before it stores it: check the token, its ' +
          'expiry and --host',
      });
    if (status >= 400)
      throw new AppError('usage', `the server refuses this: ${reasonOf(answer)}`, {
        status,
        request,
      });
  };
  /**
   * Throws `server`, and `conflict` for what stays. The write was accepted: a list that cannot be
   * read is no failure.
   */
  const checkStored = async (expected: readonly GitProvider[], removed?: string): Promise<void> => {
    const after = await readReported().catch((error: unknown) => {
      if (isFailure(error)) return null;
      throw error;
    });
    if (after?.some(({ git_provider }) => git_provider === removed))
      throw new AppError('conflict', `the server still has a token for ${removed}`);
    const names = expected.map(({ git_provider }) => git_provider);
    const missing = names.filter((name) =>
      after?.every(({ git_provider }) => git_provider !== name),
    );
    if (missing.length === 0) return;
    throw new AppError(
      'server',
      `the server accepted the change and has no token for ${missing.join(', ')} now`,
      {
        hint: 'store it again: acs git-provider set <provider>',
      },
    );
  };
  return {
    providers: () => readProviders('refuse'),
    async connect({ git_provider, token, host }, loss) {
      links.network.redaction.add(token);
      const before = await readProviders(loss);
      const known = before.find((each) => each.git_provider === git_provider);
      const stored = { git_provider, host: host ?? known?.host ?? null };
      await write(before, { [git_provider]: { token, host: stored.host } });
      await checkStored([...before, stored]);
      return { ...stored, before: known === undefined ? 'absent' : 'present' };
    },
    async disconnect(name, loss) {
      const others = (await readProviders(loss)).filter(
        ({ git_provider }) => git_provider !== name,
      );
      if (others.length > 0) await write(others);
      else await send(routes.drop);
      await checkStored(others, name);
    },
  };
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
  ): Promise<Page<T>> => {
    // Providers cut a page at their own size, and the server requests one item more than its limit.
    const largest = pageSizeOf(provider) - 1;
    const fetch = async (page_id: string | null, limit: number): Promise<Page<T>> => {
      const answer = await lookUp(links, path, { provider, ...of, query: text, page_id, limit });
      return read(answer, (body) => readPage(body, 'list', reader));
    };
    if (!text)
      return await pageWithDropped(
        page,
        Math.max(2, Math.min(pageSize ?? largest, largest)),
        fetch,
      );
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
  /** A search has one page. */
  const searched = <T>(answer: Answer, reader: (value: unknown) => T, perPage: number): Page<T> => {
    const items = read(answer, (body) => asList(body, 'list').map(reader));
    return { items, next: null, isCut: items.length >= perPage };
  };
  return {
    async repositories({ git_provider: selected_provider, search }, page, pageSize) {
      const per_page = pageSizeOf(selected_provider, search === undefined ? pageSize : undefined);
      if (search !== undefined) {
        const query = { query: search, per_page, selected_provider };
        return searched(
          await lookUp(links, '/api/user/search/repositories', query),
          readRepository,
          per_page,
        );
      }
      const number = Number(page ?? 1);
      const query = { selected_provider, sort: 'pushed', page: number, per_page };
      const answer = await lookUp(links, '/api/user/repositories', query);
      const items = read(answer, (body) => asList(body, 'repositories').map(readRepository));
      // The `Link` header of the provider; null where it has none, and a full page may not be the
      // last one.
      const [first] = answer.body as unknown[];
      const header = isRecord(first) ? first['link_header'] : null;
      const hasNext =
        typeof header === 'string' ? header.includes('rel="next"') : items.length === per_page;
      return { items, next: hasNext ? String(number + 1) : null };
    },
    async branches({ git_provider: selected_provider, repository, search = '' }, page, pageSize) {
      if (search !== '') {
        const per_page = pageSizeOf(selected_provider);
        const query = { repository, query: search, per_page, selected_provider };
        const answer = await request(links, '/api/user/search/branches', query, true);
        // 0.53 has no search of branches.
        if (!isMissingRoute(answer)) return searched(answer, readBranch, per_page);
      }
      const number = Number(page ?? 1);
      const query = {
        repository,
        page: number,
        per_page: pageSizeOf(selected_provider, pageSize),
        selected_provider,
      };
      const answer = await lookUp(links, '/api/user/repository/branches', query);
      // 0.53 answers with the whole list, later releases with a page.
      const items = read(answer, (body) =>
        asList(Array.isArray(body) ? body : asRecord(body, 'branches')['branches'], 'branches').map(
          readBranch,
        ),
      ).filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
      const isLast = !isRecord(answer.body) || answer.body['has_next_page'] !== true;
      return { items, next: isLast ? null : String(number + 1) };
    },
  };
}

async function lookUp(links: Links, path: string, query: Query): Promise<Answer> {
  const presence = links.features.of('repositories');
  const answer =
    presence === 'absent' ? null : await request(links, path, query, presence !== 'present');
  if (answer === null || isMissingRoute(answer)) throw lacks('repositories');
  return answer;
}

async function request(
  links: Links,
  path: string,
  query: Query,
  mayBeMissing: boolean,
): Promise<Answer> {
  const accept = [404, 405];
  const answer = await links.app.request({
    method: 'GET',
    path,
    query,
    safe: 'read',
    mayBeMissing,
    accept,
  });
  const { status, request: sent } = answer;
  if (status < 400 || isMissingRoute(answer)) return answer;
  const message = `the git provider has no such thing: ${reasonOf(answer)}`;
  throw new AppError('not-found', message, { status, request: sent });
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
