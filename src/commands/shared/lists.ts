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

export async function printList<T>(
  ctx: Context,
  { view, paging, key = (item) => view.id(item), fetch, otherwise = '', filter }: ListRequest<T>,
): Promise<void> {
  ctx.out.check(view, 'list');
  const server = await ctx.servers.active();
  const { items, has_more } = await collectPages({
    fetch: (page, pageSize) => fetch(server, page, pageSize),
    id: key,
    ...(filter && { filter: await filter(server) }),
    limit: paging.allPages ? Number.POSITIVE_INFINITY : (paging.limit ?? DEFAULT_LIMIT),
  });
  await ctx.out.list(view, items, { has_more });
  if (has_more)
    await ctx.notice(`more results are available: use ${otherwise}--limit <n> or --all-pages`);
}

export interface SelectorOptions {
  status?: string[];
  olderThan?: number;
  idle?: number;
  spec?: string[];
  repo?: string[];
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

export function hasSelector({ status, olderThan, idle, spec, repo }: SelectorOptions): boolean {
  return [status, olderThan, idle, spec, repo].some((value) => value !== undefined);
}

/** Throws `usage` for `--repo .` outside a checkout. */
export async function readSelection(ctx: Context, options: SelectorOptions): Promise<Selection> {
  const { status, olderThan, idle, spec, repo } = options;
  const selection = { status, olderThanMs: olderThan, idleMs: idle, spec, repo };
  if (repo?.includes('.') !== true) return selection;
  const checkout = await ctx.git.checkout();
  if (checkout === null)
    throw new AppError('usage', '--repo . needs a git checkout, and this folder is in none');
  // The local service names a repository by its path, other servers by its name at the git
  // provider.
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
