/** Lists that a server gives page by page: how far to read, what to leave out, when to stop, and how the list is printed. */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { Page } from '../domain/pages.ts';
import type { View } from '../output/view.ts';
import type { Server } from '../servers/server.ts';
import { positiveInteger } from './option-parsers.ts';

const DEFAULT_LIMIT = 30;

export interface PagingOptions {
  limit?: number;
  allPages?: boolean;
}

export function addPagingOptions(command: Command): Command {
  return command
    .option('-L, --limit <n>', `print at most this many (default ${DEFAULT_LIMIT})`, positiveInteger)
    .addOption(command.createOption('--all-pages', 'print all, however many pages there are').conflicts('limit'));
}

/** Infinity with --all-pages. */
export function limitOf({ limit, allPages }: PagingOptions): number {
  return allPages ? Number.POSITIVE_INFINITY : (limit ?? DEFAULT_LIMIT);
}

export interface ListRequest<T> {
  view: View<T>;
  paging: PagingOptions;
  /** What makes two items the same; default: the id of the view. */
  key?: (item: T) => string;
  fetch: (server: Server, page: string | null, pageSize: number) => Promise<Page<T>>;
  /** What else than --limit and --all-pages may give more, with a comma at its end. */
  otherwise?: string;
  /** Made per server, because a condition may need a look at the server first. */
  filter?: (server: Server) => Promise<((item: T) => boolean) | undefined>;
}

/** Reads and prints a list, of the active server or of each of `-p a,b,c`. */
export async function printList<T>(ctx: Context, request: ListRequest<T>): Promise<void> {
  const { otherwise = '' } = request;
  if (await printFrom(ctx, request))
    await ctx.notice(`more results are available: use ${otherwise}--limit <n> or --all-pages`);
}

/** @returns whether there is more than is printed */
async function printFrom<T>(ctx: Context, request: ListRequest<T>): Promise<boolean> {
  const { view } = request;
  if (hasSeveralProfiles(ctx)) {
    const { printListOfProfiles } = await import('./profiles-list.ts');
    return await printListOfProfiles(ctx, view, (server) => listOf(request, server));
  }
  ctx.out.check(view, 'list');
  const { items, has_more } = await listOf(request, await ctx.server());
  await ctx.out.list(view, items, { has_more });
  return has_more;
}

/** Whether the list is that of several profiles: each item then has the name of its profile. */
export function hasSeveralProfiles(ctx: Context): boolean {
  return ctx.globals.profile?.includes(',') ?? false;
}

async function listOf<T>(request: ListRequest<T>, server: Server): Promise<{ items: T[]; has_more: boolean }> {
  const { collectPages } = await import('../domain/pages.ts');
  const filter = await request.filter?.(server);
  return await collectPages({
    fetch: (page, pageSize) => request.fetch(server, page, pageSize),
    id: (item) => (request.key ?? request.view.id)(item),
    ...(filter ? { filter } : {}),
    limit: limitOf(request.paging),
  });
}
