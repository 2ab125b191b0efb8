/**
 * Lists that a server gives page by page, from one server or from several profiles at once: how far to read, what to
 * drop, when to stop, and how the list is printed.
 */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { collectPages, type Page } from '../domain/pages.ts';
import { isAppError } from '../errors.ts';
import type { Field, View } from '../output/view.ts';
import type { Server } from '../servers/server.ts';
import { positiveInteger } from './options.ts';

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
  fetch: (server: Server, page: string | null, pageSize: number) => Promise<Page<T>>;
  /** Made per server, because a condition may need a look at the server first. */
  filter?: (server: Server) => Promise<((item: T) => boolean) | undefined>;
}

/** Reads and prints a list, of the server in force or of each of `-p a,b,c`. */
export async function printList<T>(ctx: Context, request: ListRequest<T>): Promise<void> {
  if (hasSeveralProfiles(ctx)) return await printListOfProfiles(ctx, request);
  ctx.out.check(request.view, 'list');
  const { items, has_more } = await listOf(ctx, request, await ctx.server());
  await ctx.out.list(request.view, items, { has_more });
  if (has_more) await noticeMore(ctx);
}

/** Several profiles were asked for: every item then says which one it is from. */
export function hasSeveralProfiles(ctx: Context): boolean {
  return ctx.globals.profile?.includes(',') ?? false;
}

async function listOf<T>(ctx: Context, request: ListRequest<T>, server: Server) {
  const filter = await request.filter?.(server);
  return await collectPages({
    fetch: (page, pageSize) => request.fetch(server, page, pageSize),
    id: (item) => request.view.id(item),
    ...(filter ? { filter } : {}),
    limit: limitOf(request.paging),
  });
}

async function noticeMore(ctx: Context): Promise<void> {
  await ctx.notice('more results are available: use --limit <n> or --all-pages');
}

/** An item of a list over several profiles; `item` is null where the server could not be read. */
interface ProfileItem<T> {
  profile: string;
  item: T | null;
  error: { code: string; message: string } | null;
}

async function printListOfProfiles<T>(ctx: Context, request: ListRequest<T>): Promise<void> {
  ctx.out.check(viewOfProfiles(request.view, true), 'list');
  const lists = await Promise.all(
    (await ctx.servers()).map(async ({ profile, server }) => {
      try {
        const { items, has_more } = await listOf(ctx, request, await server);
        return { rows: items.map((item): ProfileItem<T> => ({ profile, item, error: null })), has_more };
      } catch (error) {
        if (!isAppError(error) || error.kind === 'interrupted') throw error;
        const row: ProfileItem<T> = { profile, item: null, error: { code: error.kind, message: error.message } };
        return { rows: [row], has_more: false };
      }
    }),
  );
  const rows = lists.flatMap((list) => list.rows);
  const failed = rows.filter((row) => row.error !== null);
  const has_more = lists.some((list) => list.has_more);
  const shown = ctx.out.format === 'id' ? rows.filter((row) => row.error === null) : rows;
  await ctx.out.list(viewOfProfiles(request.view, failed.length > 0), shown, { has_more });
  for (const { profile, error } of failed) await ctx.warn(`${profile}: ${error?.message ?? ''}`);
  if (has_more) await noticeMore(ctx);
  if (failed.length > 0) ctx.exitCode = 1;
}

function viewOfProfiles<T>(view: View<T>, withErrors: boolean): View<ProfileItem<T>> {
  const fields: Field<ProfileItem<T>>[] = view.fields.map((field) => ({
    ...field,
    get: ({ item }) => (item === null ? null : field.get(item)),
  }));
  return {
    noun: view.noun,
    id: ({ item }) => (item === null ? '' : view.id(item)),
    fields: [
      ...fields,
      { name: 'profile', get: ({ profile }) => profile, weight: 0 },
      { name: 'error', get: ({ error }) => error?.message ?? null },
    ],
    table: ['profile', ...view.table, ...(withErrors ? ['error'] : [])],
    tsv: [...view.tsv, 'profile', 'error'],
    record: ({ profile, item, error }) => (item === null ? { profile, error } : { ...recordOf(view, item), profile }),
  };
}

function recordOf<T>(view: View<T>, item: T): object {
  if (view.record) return view.record(item) as object;
  return Object.fromEntries(view.fields.map((field) => [field.name, field.get(item)]));
}
