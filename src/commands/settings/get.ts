import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { recordOf } from './document.ts';
import { findField, hintFor, refuseForeign } from './fields.ts';
import { settingsView } from './view.ts';

export function declareGet(parent: Command, ctx: Context): void {
  const command = parent.command('get').aliases(['show', 'view', 'list', 'ls']);
  command
    .description('show all settings, or those named')
    .argument('[key...]', 'names, as acs settings schema lists them');
  explain(command, {
    notes: ['A secret is shown as (set); null is one that is not set, or of which the server does not tell.'],
    json: ['{"<name>":<value>,…}   the named ones, else all'],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings get', does: 'all settings' },
      { command: 'acs settings get max_iterations --format tsv', does: 'the value alone' },
    ],
  });
  command.action((keys: string[]) => getSettings(keys, ctx));
}

export async function getSettings(keys: readonly string[], ctx: Context): Promise<void> {
  if (ctx.out.format === 'id') throw new AppError('usage', 'settings have no ids', { hint: 'use --format tsv' });
  const server = await ctx.server();
  const [fields, snapshot] = await Promise.all([server.settings.schema(), server.settings.read()]);
  const all = recordOf(snapshot, fields);
  if (keys.length === 0) return await printAll(ctx, all);
  const values = keys.map((key) => {
    const field = findField(fields, key);
    // What the server has beyond its own schema can be read, though not set.
    if (!field && Object.hasOwn(snapshot.values, key)) return [key, snapshot.values[key] ?? null] as const;
    if (!field) refuseForeign(key);
    if (!field) throw new AppError('not-found', `there is no setting "${key}"`, { hint: hintFor(fields, key) });
    return [key, all[field.name] ?? null] as const;
  });
  const view = settingsView(keys);
  ctx.out.check(view, 'item');
  await ctx.out.item(view, Object.fromEntries(values));
}

async function printAll(ctx: Context, all: ReturnType<typeof recordOf>): Promise<void> {
  const view = settingsView(Object.keys(all));
  ctx.out.check(view, 'item');
  await ctx.out.item(view, all);
}
