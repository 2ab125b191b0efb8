/**
 * An app server with git providers, as openhands-ai 1.11.0 (V1) and 1.6.0 (V0) have them in their
 * sources: a write of tokens replaces the map, V1 drops an item between two pages, a search has one
 * page, and lists of V0 are bare.
 */
import { beforeEach } from 'vitest';
import { NOT_FOUND, type Asked, type Reply } from '../../support/server.ts';
import { useWorld, type Suite } from '../../support/use-world.ts';
import { recordings } from './v1-server.ts';

type RepositoryRecord = ReturnType<typeof repositoryRecord>;
type BranchRecord = ReturnType<typeof branchRecord>;

interface StoredToken {
  token: string;
  host: string | null;
}

/** What the server has; a test changes it. */
interface GitServerData {
  /** Without settings their route is 404, as before the first write. */
  hasSettings: boolean;
  tokens: Record<string, StoredToken>;
  repositories: RepositoryRecord[];
  /** By `owner/name`; an unknown repository has an empty list. */
  branches: Record<string, BranchRecord[]>;
  tasks: unknown[];
  /** The most items that a provider gives at once, whatever the limit of the request. */
  providerPage: number;
}

export function repositoryRecord(name: string, git_provider = 'github') {
  return {
    id: name,
    full_name: name,
    git_provider,
    is_public: true,
    stargazers_count: 3 as number | null,
    link_header: null as string | null,
    pushed_at: '2026-01-02T03:04:05Z' as string | null,
    owner_type: 'user',
    main_branch: 'main' as string | null,
  };
}

export function branchRecord(name: string) {
  return {
    name,
    commit_sha: '7676835c464912145db64e1480a4de2f03f30bc6',
    protected: false,
    last_push_date: null as string | null,
  };
}

/** The token that every provider refuses. */
export const REFUSED_TOKEN = 'a-token-that-is-refused';

/**
 * A world at such a server, for the enclosing suite; it has for each test a token for github, and
 * nothing else.
 */
export function useGitServer(
  dialect: 'v0' | 'v1',
  noun?: string,
): Suite & { readonly data: GitServerData } {
  const recorded = recordings(dialect === 'v1' ? '1.11.0' : '1.6.0');
  let data: GitServerData;
  beforeEach(() => {
    const tokens = { github: { token: 'stored-token', host: null } };
    data = {
      hasSettings: true,
      tokens,
      repositories: [],
      branches: {},
      tasks: [],
      providerPage: 100,
    };
  });
  const at = useWorld({
    noun,
    script(asked) {
      if (asked.path === '/openapi.json')
        return documentOf(recorded.body('probe.openapi'), dialect);
      if (asked.path === '/api/v1/app-conversations/count')
        return dialect === 'v1' ? { json: 0 } : NOT_FOUND;
      return (dialect === 'v1' ? replyV1(asked, data) : replyV0(asked, data)) ?? NOT_FOUND;
    },
  });
  return Object.defineProperty(at, 'data', { get: () => data }) as Suite & {
    readonly data: GitServerData;
  };
}

/** The document of a release, with V0 alone for V0. */
function documentOf(body: unknown, dialect: 'v0' | 'v1'): Reply {
  const document = body as { paths: Record<string, unknown> };
  const isServed = (route: string): boolean => dialect === 'v1' || !route.startsWith('/api/v1/');
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([route]) => isServed(route)),
  );
  return { json: { ...document, paths } };
}

function replyV1(asked: Asked, data: GitServerData): Reply | null {
  const { method, path: at, query } = asked;
  const limit = Number(query.get('limit') ?? 100);
  const page = Number(query.get('page_id') ?? 1);
  if (at === '/api/v1/settings') return settingsOf(data);
  if (at === '/api/v1/secrets/git-providers')
    return method === 'DELETE' ? drop(data) : add(asked, data, 'detail');
  if (!at.startsWith('/api/v1/git/')) return null;
  if (Object.keys(data.tokens).length === 0)
    return { status: 403, json: { detail: 'Git provider token required (such as GitHub).' } };
  if (at === '/api/v1/git/suggested-tasks/search') {
    const next = page * limit < data.tasks.length ? String(page + 1) : null;
    return {
      json: { items: data.tasks.slice((page - 1) * limit, page * limit), next_page_id: next },
    };
  }
  const wanted = query.get('query') ?? '';
  const isSearch = wanted !== '';
  if (isSearch && page !== 1 && at.includes('branches'))
    return {
      status: 400,
      json: { detail: 'Pagination not yet supported for branch search queries.' },
    };
  const all = at.includes('branches')
    ? (data.branches[query.get('repository') ?? ''] ?? [])
    : ofProvider(data, query);
  const found = all.filter((item) => nameOf(item).includes(wanted));
  // The server requests one item more than the limit, from the page of that size on; a search has
  // the first alone.
  const size = Math.min(limit + 1, data.providerPage);
  const start = isSearch ? 0 : (page - 1) * size;
  const got = found.slice(start, start + size);
  const hasMore = got.length > limit;
  return {
    json: {
      items: hasMore ? got.slice(0, -1) : got,
      next_page_id: hasMore ? String(page + 1) : null,
    },
  };
}

function replyV0(asked: Asked, data: GitServerData): Reply | null {
  const { path: at, query } = asked;
  if (at === '/api/options/config') return { json: { APP_MODE: 'oss' } };
  if (at === '/api/settings') return settingsOf(data);
  if (at === '/api/add-git-providers') return add(asked, data, 'error');
  if (at === '/api/unset-provider-tokens') return drop(data);
  if (!at.startsWith('/api/user/')) return null;
  if (Object.keys(data.tokens).length === 0)
    return { status: 401, json: 'Git provider token required.' };
  if (at === '/api/user/suggested-tasks') return { json: data.tasks };
  const wanted = query.get('query') ?? '';
  const size = Math.min(Number(query.get('per_page')), data.providerPage);
  const start = (Number(query.get('page') ?? 1) - 1) * size;
  const isBranches = at.includes('branches');
  const all = isBranches
    ? (data.branches[query.get('repository') ?? ''] ?? [])
    : ofProvider(data, query);
  const found = all.filter((item) => nameOf(item).includes(wanted));
  const items = found.slice(start, start + size);
  const hasNext = start + size < found.length;
  if (at === '/api/user/repository/branches')
    return {
      json: {
        branches: items,
        has_next_page: hasNext,
        current_page: 1,
        per_page: size,
        total_count: null,
      },
    };
  const link = hasNext ? '<https://provider.example/?page=2>; rel="next"' : '';
  return { json: items.map((item) => (isBranches ? item : { ...item, link_header: link })) };
}

function ofProvider({ repositories }: GitServerData, query: URLSearchParams): RepositoryRecord[] {
  const provider = query.get('provider') ?? query.get('selected_provider');
  return repositories.filter(({ git_provider }) => git_provider === provider);
}

function nameOf(item: RepositoryRecord | BranchRecord): string {
  return 'full_name' in item ? item.full_name : item.name;
}

function settingsOf({ hasSettings, tokens }: GitServerData): Reply {
  if (!hasSettings) return { status: 404, json: { error: 'Settings not found' } };
  const hosts = Object.entries(tokens).map(([name, { host }]) => [name, host]);
  return { json: { language: 'en', provider_tokens_set: Object.fromEntries(hosts) as unknown } };
}

function add({ body }: Asked, data: GitServerData, member: 'detail' | 'error'): Reply {
  const { provider_tokens: given } = body as {
    provider_tokens: Record<string, Partial<StoredToken>>;
  };
  const stored: Record<string, StoredToken> = {};
  for (const [name, { token = '', host = null }] of Object.entries(given)) {
    const kept = data.tokens[name];
    const isMoved = kept !== undefined && kept.host !== host;
    if (token === REFUSED_TOKEN || (isMoved && token === ''))
      return {
        status: 401,
        json: { [member]: `Invalid token. Please make sure it is a valid ${name} token.` },
      };
    stored[name] = { token: token === '' ? (kept?.token ?? '') : token, host };
  }
  data.tokens = stored;
  return { json: { message: 'Git providers stored' } };
}

function drop(data: GitServerData): Reply {
  data.tokens = {};
  return { json: { message: 'Unset Git provider tokens' } };
}
