import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { isRecord, type Json } from '../../protocol/shape.ts';

/** The host did not answer (`status` null), or answered with an error. */
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

/** A Forgejo host that the user runs. Every call throws ForgejoError. */
export class Forgejo {
  readonly #base: string;
  readonly #token: string;

  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  /** Whether the host refuses the token; a host that does not answer refuses nothing. */
  async refusesToken(): Promise<boolean> {
    try {
      await this.#read('/user');
      return false;
    } catch (error) {
      const { status } = error as ForgejoError;
      return status === 401 || status === 403;
    }
  }

  async repositories(query: string) {
    const path = query === '' ? '/user/repos' : `/repos/search?q=${encodeURIComponent(query)}`;
    return (await this.#readPages(path)).map((repository) => ({
      id: String(repository.id),
      full_name: text(repository.full_name),
      git_provider: 'forgejo',
      is_public: repository.private !== true,
      stargazers_count: Number(repository.stars_count ?? 0),
      link_header: null,
      pushed_at: text(repository.updated_at) || null,
      owner_type: members(repository.owner).type === 'Organization' ? 'organization' : 'user',
      main_branch: text(repository.default_branch) || null,
    }));
  }

  async hasRepository(name: string): Promise<boolean> {
    return (await this.#read(repositoryPath(name)).catch(missing)) !== null;
  }

  /** None of a repository that the host does not have, as genuine servers answer. */
  async branches(repository: string, query: string) {
    const path = `${repositoryPath(repository)}/branches`;
    const branches = (await this.#readPages(path).catch(missing)) ?? [];
    const shown = branches.map((branch) => ({
      name: text(branch.name),
      commit_sha: text(members(branch.commit).id),
      protected: branch.protected === true,
      last_push_date: null,
    }));
    return shown.filter(({ name }) => name.includes(query));
  }

  async tasks() {
    const path = '/repos/issues/search?type=issues&state=open&assigned=true';
    // An old host has no search for issues.
    const issues = (await this.#readPages(path).catch(missing)) ?? [];
    return issues.map((issue) => ({
      git_provider: 'forgejo',
      task_type: 'OPEN_ISSUE',
      repo: text(members(issue.repository).full_name),
      issue_number: Number(issue.number),
      title: text(issue.title),
    }));
  }

  async #readPages(path: string): Promise<Json[]> {
    const all: Json[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const separator = path.includes('?') ? '&' : '?';
      const answer = await this.#read(`${path}${separator}page=${page}&limit=${PAGE}`);
      const list = Array.isArray(answer) ? (answer as unknown[]) : members(answer).data;
      const items = Array.isArray(list) ? list.map(members) : [];
      all.push(...items);
      if (items.length < PAGE) break;
    }
    return all;
  }

  /** Not by fetch, which refuses ports such as 10080 and repeats the token in its errors. */
  async #read(path: string): Promise<unknown> {
    let status: number | null = null;
    try {
      const url = new URL(`${this.#base}/api/v1${path}`);
      const request = (url.protocol === 'https:' ? https : http).request(url, {
        headers: { Authorization: `token ${this.#token}`, Accept: 'application/json' },
        // For all of one answer: a host may drip it without ever being silent.
        signal: AbortSignal.timeout(10_000),
      });
      request.on('error', () => undefined);
      // A connection that changes its protocol closes without an answer and without an error.
      request.on('close', () =>
        request.emit('error', new Error(`${url.host} closed the connection`)),
      );
      const [answer] = (await once(request.end(), 'response')) as [http.IncomingMessage];
      status = answer.statusCode ?? 0;
      let body = '';
      for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) body += chunk;
      if (status === 200) return JSON.parse(body);
    } catch (error) {
      throw new ForgejoError((error as Error).message, status);
    }
    throw new ForgejoError(`the host answered ${status}`, status);
  }
}

function missing(error: unknown): null {
  if ((error as ForgejoError).status === 404) return null;
  throw error;
}

function repositoryPath(name: string): string {
  return `/repos/${name.split('/').map(encodeURIComponent).join('/')}`;
}

function members(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
