/** Repositories, branches and suggested tasks that a server finds with the tokens of the user (interface 2.8, 3.5). */
import { AppError } from '../../errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import type { Branch, Repository, SuggestedTask } from '../../domain/git-provider.ts';
import type { Page } from '../../domain/pages.ts';
import {
  asList,
  asRecord,
  isRecord,
  optionalNumber,
  optionalText,
  readPage,
  requiredText,
  ShapeError,
} from '../../protocol/shape.ts';
import { normalizeTime } from '../../text/time.ts';
import { isMissingRoute } from '../features.ts';
import { read, type Links } from '../links.ts';
import { pageWithDropped } from '../quirks/dropped-last-item.ts';
import type { BranchQuery, GitPort } from './port.ts';
import { reasonOf, type Answer } from '../transport/answer.ts';
import type { Query } from '../transport/address.ts';

type Lookups = Pick<GitPort, 'repositories' | 'branches' | 'tasks'>;

/** The most items of a page: servers pass the size on to the provider, which cuts a larger one without a word. */
const PAGE_SIZE = 100;
const PAGE_SIZE_FORGEJO = 50;

function pageSizeOf(provider: string, wanted = PAGE_SIZE): number {
  return Math.min(wanted, provider === 'forgejo' ? PAGE_SIZE_FORGEJO : PAGE_SIZE);
}

export function createLookups(links: Links, dialect: Dialect): Lookups {
  return dialect === 'v1' ? lookupsV1(links) : lookupsV0(links);
}

function lookupsV1(links: Links): Lookups {
  /** Providers cut a page at their own size, and the server requests one item more than its limit. */
  const limitOf = (provider: string, wanted?: number): number =>
    Math.max(2, Math.min(wanted ?? PAGE_SIZE, pageSizeOf(provider) - 1));
  return {
    async repositories({ git_provider: provider, search }, page, pageSize) {
      const limit = limitOf(provider, pageSize);
      const fetch = async (page_id: string | null, limit: number): Promise<Page<Repository>> => {
        const query = { provider, query: search, page_id, limit };
        const answer = await ask(links, '/api/v1/git/repositories/search', query);
        return read(answer, (body) => readPage(body, 'repositories', readRepository));
      };
      return search === undefined
        ? await pageWithDropped(page, limit, fetch)
        : onePage(await fetch(null, limitOf(provider)));
    },
    async branches({ git_provider: provider, repository, search = '' }, page, pageSize) {
      const limit = limitOf(provider, pageSize);
      const fetch = async (page_id: string | null, limit: number): Promise<Page<Branch>> => {
        const query = { provider, repository, query: search, page_id, limit };
        const answer = await ask(links, '/api/v1/git/branches/search', query);
        return read(answer, (body) => readPage(body, 'branches', readBranch));
      };
      return search === '' ? await pageWithDropped(page, limit, fetch) : onePage(await fetch(null, limitOf(provider)));
    },
    async tasks(page_id, pageSize = PAGE_SIZE) {
      const query = { page_id, limit: Math.min(pageSize, PAGE_SIZE) };
      const answer = await ask(links, '/api/v1/git/suggested-tasks/search', query);
      return read(answer, (body) => readPage(body, 'tasks', readTask));
    },
  };
}

/** A search has no second page: 1.11.0 answers with the first one again, or with 400. */
function onePage<T>({ items, next }: Page<T>): Page<T> {
  return { items, next: null, isCut: next !== null };
}

function lookupsV0(links: Links): Lookups {
  return {
    async repositories({ git_provider: selected_provider, search }, page, pageSize) {
      if (search !== undefined) {
        const per_page = pageSizeOf(selected_provider);
        const query = { query: search, per_page, selected_provider };
        const items = await listV0(links, '/api/user/search/repositories', query, readRepository);
        return { items, next: null, isCut: items.length >= per_page };
      }
      const per_page = pageSizeOf(selected_provider, pageSize);
      const number = Number(page ?? 1);
      const query = { selected_provider, sort: 'pushed', page: number, per_page };
      const answer = await ask(links, '/api/user/repositories', query);
      const items = read(answer, (body) => readAll(body, 'repositories', readRepository));
      return { items, next: hasNext(answer.body as unknown[], per_page) ? String(number + 1) : null };
    },
    async branches(query, page, pageSize) {
      const found = query.search ? await searchBranchesV0(links, query) : null;
      return found ?? (await listBranchesV0(links, query, page, pageSize));
    },
    async tasks() {
      return { items: await listV0(links, '/api/user/suggested-tasks', {}, readTask), next: null };
    },
  };
}

/**
 * Each record of a page has the `Link` header of the provider; null where the provider has none, and there a page that is
 * full may not be the last one.
 */
function hasNext(records: readonly unknown[], perPage: number): boolean {
  const [first] = records;
  const header = isRecord(first) ? first['link_header'] : null;
  return typeof header === 'string' ? header.includes('rel="next"') : records.length === perPage;
}

/** Null where the server has no search of branches (0.53). */
async function searchBranchesV0(
  links: Links,
  { git_provider: selected_provider, repository, search = '' }: BranchQuery,
): Promise<Page<Branch> | null> {
  const per_page = pageSizeOf(selected_provider);
  const query = { repository, query: search, per_page, selected_provider };
  const answer = await request(links, '/api/user/search/branches', query, 'maybe');
  if (isMissingRoute(answer)) return null;
  const items = read(answer, (body) => readAll(body, 'branches', readBranch));
  return { items, next: null, isCut: items.length >= per_page };
}

/** 0.53 answers with the whole list, later releases with a page. */
async function listBranchesV0(
  links: Links,
  { git_provider: selected_provider, repository, search = '' }: BranchQuery,
  page: string | null,
  pageSize?: number,
): Promise<Page<Branch>> {
  const number = Number(page ?? 1);
  const per_page = pageSizeOf(selected_provider, pageSize);
  const query = { repository, page: number, per_page, selected_provider };
  const { body, ...answer } = await ask(links, '/api/user/repository/branches', query);
  const isMatch = ({ name }: Branch): boolean => name.toLowerCase().includes(search.toLowerCase());
  const items = read({ ...answer, body }, () =>
    readAll(Array.isArray(body) ? body : asRecord(body, 'branches')['branches'], 'branches', readBranch),
  ).filter(isMatch);
  const isLast = !isRecord(body) || body['has_next_page'] !== true;
  return { items, next: isLast ? null : String(number + 1) };
}

async function listV0<T>(links: Links, path: string, query: Query, reader: Reader<T>): Promise<T[]> {
  const answer = await ask(links, path, query);
  return read(answer, (body) => readAll(body, 'list', reader));
}

async function ask(links: Links, path: string, query: Query): Promise<Answer> {
  if (links.features.of('repositories') === 'absent') throw lacksLookups();
  const answer = await request(links, path, query, links.features.of('repositories') === 'present' ? 'known' : 'maybe');
  if (isMissingRoute(answer)) throw lacksLookups();
  return answer;
}

async function request(links: Links, path: string, query: Query, route: 'known' | 'maybe'): Promise<Answer> {
  const accept = [404, 405];
  const call = { method: 'GET', path, query, safe: 'read', mayBeMissing: route === 'maybe', accept } as const;
  const answer = await links.app.request(call);
  if (answer.status < 400 || isMissingRoute(answer)) return answer;
  const { status, request: sent } = answer;
  throw new AppError('not-found', `the git provider has no such thing: ${reasonOf(answer)}`, { status, request: sent });
}

type Reader<T> = (value: unknown, place: string) => T;

function readAll<T>(body: unknown, place: string, reader: Reader<T>): T[] {
  return asList(body, place).map((item, index) => reader(item, `${place}[${index}]`));
}

function readRepository(value: unknown, place: string): Repository {
  const record = asRecord(value, place);
  return {
    name: requiredText(record, 'full_name', place),
    git_provider: requiredText(record, 'git_provider', place),
    public: record['is_public'] === true,
    default_branch: optionalText(record, 'main_branch', place),
    stars: optionalNumber(record, 'stargazers_count', place),
    pushed_at: normalizeTime(optionalText(record, 'pushed_at', place)),
  };
}

function readBranch(value: unknown, place: string): Branch {
  const record = asRecord(value, place);
  return {
    name: requiredText(record, 'name', place),
    commit: optionalText(record, 'commit_sha', place),
    protected: record['protected'] === true,
    pushed_at: normalizeTime(optionalText(record, 'last_push_date', place)),
  };
}

function readTask(value: unknown, place: string): SuggestedTask {
  const record = asRecord(value, place);
  const number = record['issue_number'];
  if (!Number.isSafeInteger(number)) throw new ShapeError(`${place}.issue_number`, 'a whole number');
  return {
    git_provider: requiredText(record, 'git_provider', place),
    task_type: requiredText(record, 'task_type', place),
    repo: requiredText(record, 'repo', place),
    issue_number: number as number,
    title: optionalText(record, 'title', place) ?? '',
  };
}

function lacksLookups(): AppError {
  return new AppError(
    'unsupported',
    'this server does not list repositories; V0 servers, and V1 servers of 2026 such as OpenHands 1.11, do',
  );
}
