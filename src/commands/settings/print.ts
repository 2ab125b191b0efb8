/** Settings on their way out: as rows of name and value, in JSON as one object. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { settingsView, type SettingsRecord } from './view.ts';

export interface Printed {
  /** The names on the command line, or all. */
  names: readonly string[];
  record: SettingsRecord;
  /** Further members in JSON. */
  extra?: Record<string, unknown>;
}

/** Names are shown as they are typed, which the rows of other things are not. */
const rowView: View<{ name: string; value: unknown }> = {
  noun: 'setting',
  id: ({ name }) => name,
  fields: [
    { name: 'name', get: ({ name }) => name, weight: 0 },
    { name: 'value', get: ({ value }) => value, weight: 0 },
  ],
  table: ['name', 'value'],
  tsv: ['name', 'value'],
};

/** Throws `usage`, before any request, for the format `id`. */
export function refuseIds(ctx: Context): void {
  if (ctx.out.format === 'id') throw new AppError('usage', 'settings have no ids', { hint: 'use --format tsv' });
}

export async function printSettings(ctx: Context, { names, record, extra }: Printed): Promise<void> {
  const isForPeople = ctx.out.format === 'table' || ctx.out.format === 'tsv';
  if (isForPeople && names.length === 0) return;
  // For one setting a script needs only the value; for several it needs the names, too.
  const asRows = ctx.out.format === 'table' || (ctx.out.format === 'tsv' && names.length > 1);
  if (!asRows || ctx.globals.fields) return await ctx.out.item(settingsView(names), record, extra);
  const rows = names.map((name) => ({ name, value: record[name] ?? null }));
  await ctx.out.list(rowView, rows, { has_more: false });
}
