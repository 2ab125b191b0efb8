/**
 * The repositories of a user at a Forgejo host, in the records of the servers' interface. Only Forgejo is searched,
 * because users run it themselves; tokens of other providers are only used to clone.
 */
import http from 'node:http';
import https from 'node:https';

export interface ProviderRepository {
  id: string;
  full_name: string;
  git_provider: 'forgejo';
  is_public: boolean;
  stargazers_count: number;
  link_header: null;
  pushed_at: string | null;
  owner_type: 'user' | 'organization';
  main_branch: string | null;
}

export interface ProviderBranch {
  name: string;
  commit_sha: string;
  protected: boolean;
  last_push_date: null;
}

export interface ProviderTask {
  git_provider: 'forgejo';
  task_type: 'OPEN_ISSUE';
  repo: string;
  issue_number: number;
  title: string;
}

/** The host did not answer, or answered with an error. `status` is its own; null: there was no answer. */
export class ForgejoError extends Error {
  override readonly name = 'ForgejoError';
  readonly status: number | null;

  constructor(message: string, status: number | null) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const PAGE = 50;
const MAX_PAGES = 20;

export interface Forgejo {
  /** Throws ForgejoError 401 or 403 when the token is refused. */
  checkToken(): Promise<void>;
  /** The user's own, or those whose name contains the text. */
  repositories(query: string): Promise<ProviderRepository[]>;
  hasRepository(name: string): Promise<boolean>;
  /** None of a repository that the host does not have, as genuine servers answer. */
  branches(repository: string, query: string): Promise<ProviderBranch[]>;
  /** Open issues that are assigned to the user. */
  tasks(): Promise<ProviderTask[]>;
}

/**
 * @param base address of the host, with its scheme
 * Every call throws ForgejoError.
 */
export function createForgejo(base: string, token: string): Forgejo {
  const ask = (path: string): Promise<unknown> => askJson(`${base}/api/v1${path}`, token);
  const all = (path: string): Promise<Members[]> => allPages(ask, path);
  const name = (repository: string): string => repository.split('/').map(encodeURIComponent).join('/');
  return {
    async checkToken() {
      await ask('/user');
    },
    async repositories(query) {
      const path = query === '' ? '/user/repos' : `/repos/search?q=${encodeURIComponent(query)}`;
      return (await all(path)).map(repositoryOf);
    },
    async hasRepository(repository) {
      return (await orMissing(ask(`/repos/${name(repository)}`), null)) !== null;
    },
    async branches(repository, query) {
      const found = await orMissing(all(`/repos/${name(repository)}/branches`), []);
      return found.map(branchOf).filter((branch) => branch.name.includes(query));
    },
    async tasks() {
      // An old host has no search for issues.
      const found = await orMissing(all('/repos/issues/search?type=issues&state=open&assigned=true'), []);
      return found.map(taskOf);
    },
  };
}

/** @param missing what a 404 of the host stands for */
async function orMissing<T>(asked: Promise<T>, missing: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ForgejoError && error.status === 404) return missing;
    throw error;
  }
}

type Members = Record<string, unknown>;

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function repositoryOf(found: Members): ProviderRepository {
  return {
    id: String(found.id),
    full_name: text(found.full_name),
    git_provider: 'forgejo',
    is_public: found.private !== true,
    stargazers_count: Number(found.stars_count ?? 0),
    link_header: null,
    pushed_at: text(found.updated_at) || null,
    owner_type: membersOf(found.owner).type === 'Organization' ? 'organization' : 'user',
    main_branch: text(found.default_branch) || null,
  };
}

function branchOf(found: Members): ProviderBranch {
  const commit = membersOf(found.commit);
  return {
    name: text(found.name),
    commit_sha: text(commit.id),
    protected: found.protected === true,
    last_push_date: null,
  };
}

function taskOf(found: Members): ProviderTask {
  return {
    git_provider: 'forgejo',
    task_type: 'OPEN_ISSUE',
    repo: text(membersOf(found.repository).full_name),
    issue_number: Number(found.number),
    title: text(found.title),
  };
}

/** The items of all pages, a thousand at most. */
async function allPages(ask: (path: string) => Promise<unknown>, path: string): Promise<Members[]> {
  const found: Members[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await ask(`${path}${path.includes('?') ? '&' : '?'}page=${page}&limit=${PAGE}`);
    const list = Array.isArray(answer) ? (answer as unknown[]) : membersOf(answer).data;
    const items = Array.isArray(list) ? list.map(membersOf) : [];
    found.push(...items);
    if (items.length < PAGE) break;
  }
  return found;
}

async function askJson(address: string, token: string): Promise<unknown> {
  try {
    return await readJson(await get(new URL(address), token));
  } catch (error) {
    if (error instanceof ForgejoError) throw error;
    throw new ForgejoError((error as Error).message, null);
  }
}

/** The answer as it begins; it ends, in whatever way, after `TIMEOUT_MS`. */
function get(url: URL, token: string): Promise<http.IncomingMessage> {
  const { request } = url.protocol === 'https:' ? https : http;
  const headers = { Authorization: `token ${token}`, Accept: 'application/json' };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers });
    // For all of it: a host may drip its answer without ever being silent.
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer of ${url.host} in time`)), TIMEOUT_MS);
    outgoing.on('close', () => clearTimeout(timer));
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
    outgoing.on('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new Error(`${url.host} switched protocols without a request to upgrade`));
    });
    outgoing.end();
  });
}

async function readJson(incoming: http.IncomingMessage): Promise<unknown> {
  const status = incoming.statusCode ?? 0;
  let body = '';
  incoming.setEncoding('utf8');
  for await (const chunk of incoming as AsyncIterable<string>) {
    body += chunk;
    if (body.length > MAX_ANSWER_BYTES) throw new ForgejoError('the answer of the host is too large', status);
  }
  if (status !== 200) throw new ForgejoError(`the host answered ${status}`, status);
  try {
    return JSON.parse(body);
  } catch {
    throw new ForgejoError('the host answered with something that is not JSON', status);
  }
}
