import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { requireField } from './fields.ts';
import { fieldView } from './view.ts';

export function declareSchema(parent: Command, ctx: Context): void {
  const command = parent.command('schema').description('list the settings, with types, bounds and choices');
  command.argument('[key...]', 'names of settings; default: all');
  explain(command, {
    json: ({ listForm }) => [listForm(fieldView)],
    exits: ['unsupported'],
    examples: [
      { command: 'acs settings schema', does: 'list all settings of the server' },
      { command: 'acs settings schema max_iterations --json', does: 'print the bounds of one setting' },
    ],
  });
  command.action((keys: string[]) => listFields(keys, ctx));
}

export async function listFields(keys: readonly string[], ctx: Context): Promise<void> {
  ctx.out.check(fieldView, 'list');
  const fields = await (await ctx.server()).settings.schema();
  const chosen = keys.length === 0 ? fields : keys.map((key) => requireField(fields, key));
  await ctx.out.list(fieldView, chosen, { has_more: false });
}
