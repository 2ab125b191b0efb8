/** A list over several profiles (`-p a,b,c`): each item has the name of its profile. */
import type { Context } from '../context.ts';
import { isAppError } from '../errors.ts';
import { recordOf } from '../output/fields.ts';
import type { Field, View } from '../output/view.ts';
import type { Server } from '../servers/server.ts';

/** An item of a list over several profiles; `item` is null where the server could not be read. */
interface ProfileItem<T> {
  profile: string;
  item: T | null;
  error: { code: string; message: string } | null;
}

/**
 * Prints the lists of all profiles of `-p a,b,c` as one. A server that cannot be read is an item with an error; the exit
 * code is then 1.
 * @returns whether a list has more items
 */
export async function printListOfProfiles<T>(
  ctx: Context,
  view: View<T>,
  read: (server: Server) => Promise<{ items: T[]; has_more: boolean }>,
): Promise<boolean> {
  ctx.out.check(viewOfProfiles(view, true), 'list');
  const lists = await Promise.all(
    (await ctx.servers()).map(async ({ profile, server }) => {
      try {
        const { items, has_more } = await read(await server);
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
  await ctx.out.list(viewOfProfiles(view, failed.length > 0), shown, { has_more });
  for (const { profile, error } of failed) await ctx.warn(`${profile}: ${error?.message ?? ''}`);
  if (failed.length > 0) ctx.exitCode = 1;
  return has_more;
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
    record: ({ profile, item, error }) =>
      item === null ? { profile, error } : { ...recordOf(view, item, undefined), profile },
  };
}
