import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { JsonValue } from '../../domain/settings.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { recordOf } from './document.ts';
import { findField, hintFor, refuseForeign } from './fields.ts';
import { printSettings, refuseIds } from './print.ts';
import { settingsView } from './view.ts';

export function declareGet(parent: Command, ctx: Context): void {
  const command = parent.command('get').aliases(['show', 'view', 'list', 'ls']);
  command.description('show settings').argument('[key...]', 'names of settings (acs settings schema); default: all');
  explain(command, {
    notes: [
      'In a pipe every line is a name, a tab and a value; for one key the line is the value alone.',
      'A secret is shown as (set). Null means not set, or not reported by the server.',
    ],
    json: () => ['{"<name>":<value>,…}'],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings get', does: 'show all settings' },
      { command: 'acs settings get max_iterations --format tsv', does: 'print one value' },
    ],
  });
  command.action((keys: string[]) => getSettings(keys, ctx));
}

export async function getSettings(keys: readonly string[], ctx: Context): Promise<void> {
  refuseIds(ctx);
  const server = await ctx.server();
  const [fields, snapshot] = await Promise.all([server.settings.schema(), server.settings.read()]);
  const all = recordOf(snapshot, fields);
  const record = keys.length === 0 ? all : Object.fromEntries(keys.map((key) => [key, valueOf(key)]));
  const names = Object.keys(record);
  ctx.out.check(settingsView(names), 'item');
  await printSettings(ctx, { names: keys.length === 0 ? names.filter(hasValue) : names, record });

  function valueOf(key: string): JsonValue {
    const field = findField(fields, key);
    if (field) return all[field.name] ?? null;
    // What the server has beyond its own schema can be read, though not set.
    if (Object.hasOwn(snapshot.values, key)) return snapshot.values[key] ?? null;
    refuseForeign(fields, key);
    throw new AppError('not-found', `no setting "${key}"`, { hint: hintFor(fields, key) });
  }

  /** To people only: programs rely on every field. */
  function hasValue(name: string): boolean {
    return ctx.out.format !== 'table' || ctx.globals.fields !== undefined || all[name] !== null;
  }
}
