import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import type { Selection } from '../../domain/selectors.ts';
import { collectList, duration, someOf, positiveInteger } from './option-parsers.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Resource, StatusRecord } from './resource.ts';
import { collectPages, type Page } from '../../domain/pages.ts';
import type { View } from '../../output/view.ts';

const DEFAULT_LIMIT = 30;

export interface PagingOptions {
  limit?: number;
  allPages?: boolean;
  watch?: boolean;
}

export function addPagingOptions(command: Command): Command {
  return command
    .option(
      '-L, --limit <n>',
      `print at most this many (default ${DEFAULT_LIMIT})`,
      positiveInteger,
    )
    .addOption(command.createOption('--all-pages', 'print all pages').conflicts('limit'));
}

/** Of a list whose records change by themselves. */
export function addWatch(command: Command, ...others: string[]): Command {
  return command.addOption(
    command
      .createOption('--watch', 'renew the list until Ctrl-C; outside a terminal, print changes')
      .conflicts(others),
  );
}

/** For the notes of a list with `addWatch`. */
export const WATCH_NOTE =
  '--watch reads the list every 2 s from a server on this machine, else every 10 s, and marks ' +
  'with * what changed last. Outside a terminal, and with --json, it prints each new or changed ' +
  'row; a time is no change unless --fields names it.';

export interface ListRequest<T> {
  view: View<T>;
  paging: PagingOptions;
  /** What makes two items the same; default: the id of the view. */
  key?: (item: T) => string;
  fetch: (server: Server, page: string | null, pageSize: number) => Promise<Page<T>>;
  /** What else than --limit and --all-pages may give more, with a comma at its end. */
  otherwise?: string;
  /** May read first what the condition needs. Applied before the limit. */
  filter?: (server: Server) => Promise<(item: T) => boolean>;
}

interface List<T> {
  items: T[];
  has_more: boolean;
}

export async function printList<T>(ctx: Context, request: ListRequest<T>): Promise<void> {
  const { view, paging, key = (item) => view.id(item) } = request;
  if (paging.watch) {
    const { watchList } = await import('./watch.ts');
    const read = (server: Server) => readList(server, request);
    return await watchList(ctx, view, key, read, (list) => noticeMore(ctx, list, request));
  }
  ctx.out.check(view, 'list');
  const list = await readActive(ctx, request);
  const none = request.filter && 'none match';
  await ctx.out.list(view, list.items, { has_more: list.has_more }, none);
  await noticeMore(ctx, list, request);
}

export async function readActive<T>(
  ctx: Context,
  request: ListRequest<T>,
): Promise<List<T> & { server: Server }> {
  const server = await ctx.servers.active();
  if (!request.paging.allPages) return { server, ...(await readList(server, request)) };
  const { withLateProgress } = await import('./late-progress.ts');
  const list = await withLateProgress(ctx, 'reading the list', (update) =>
    readList(server, request, (count) => update(`reading the list: ${count} so far`)),
  );
  return { server, ...list };
}

export async function readList<T>(
  server: Server,
  { view, paging, key = (item) => view.id(item), fetch, filter }: ListRequest<T>,
  onRead?: (count: number) => void,
): Promise<List<T>> {
  return await collectPages({
    fetch: fetch.bind(null, server),
    id: key,
    onRead,
    ...(filter && { filter: await filter(server) }),
    limit: limitOf(paging),
  });
}

export function limitOf({ allPages, limit = DEFAULT_LIMIT }: PagingOptions): number {
  return allPages ? Number.POSITIVE_INFINITY : limit;
}

export async function noticeMore<T>(
  ctx: Context,
  { has_more }: { has_more: boolean },
  { otherwise = '' }: Pick<ListRequest<T>, 'otherwise'>,
): Promise<void> {
  if (has_more)
    await ctx.notice(`more results are available: use ${otherwise}--limit <n> or --all-pages`);
}

const SELECTORS = [
  'all',
  'status',
  'olderThan',
  'newerThan',
  'idle',
  'spec',
  'repo',
  'search',
] as const;

export interface SelectorOptions {
  status?: string[];
  olderThan?: number;
  idle?: number;
  spec?: string[];
  repo?: string[];
  /** Of `conv list` alone, as is `search`. */
  newerThan?: number;
  search?: string;
}

export function addSelectorOptions(command: Command, statuses: readonly string[]): Command {
  return command
    .optionsGroup('Selectors:')
    .option(
      '--status <word,…>',
      `status is one of ${statuses.join(', ')}`,
      someOf(statuses, /^unknown\(.+\)$/),
    )
    .option('--older-than <duration>', 'created at least this long ago', duration)
    .option('--idle <duration>', 'no run in progress and no update for this long', duration)
    .option('--spec <id,…>', 'created from one of these specs', collectList)
    .option(
      '--repo <name,…>',
      "repository: a full name, its last part, . for this checkout, or a glob such as 'acme/*'",
      collectList,
    )
    .optionsGroup('Flags:');
}

export function hasSelector(options: SelectorOptions & { all?: boolean }): boolean {
  return SELECTORS.some((name) => options[name] !== undefined);
}

/** Throws `usage` for `--repo .` outside a checkout. */
export async function readSelection(ctx: Context, options: SelectorOptions): Promise<Selection> {
  const { status, olderThan, newerThan, idle, spec, repo, search } = options;
  const ages = { olderThanMs: olderThan, newerThanMs: newerThan, idleMs: idle };
  const selection = { status, ...ages, spec, repo, search };
  if (repo?.includes('.') !== true) return selection;
  const checkout = await ctx.git.checkout();
  if (checkout === null)
    throw new AppError('usage', '--repo . needs a git checkout, and this folder is in none');
  // The local service names a repository by its path, other servers as the git provider does.
  const names = [checkout.root, checkout.origin?.repository ?? checkout.root];
  return { ...selection, repo: repo.flatMap((pattern) => (pattern === '.' ? names : pattern)) };
}

export function selectedList<R extends StatusRecord>(
  ctx: Context,
  resource: Resource<R>,
  options: SelectorOptions & PagingOptions,
): ListRequest<R> {
  const { view, list: fetch } = resource;
  const filter = async (server: Server) =>
    await resource.selector(ctx, server, await readSelection(ctx, options));
  return { view, paging: options, fetch, ...(hasSelector(options) && { filter }) };
}
