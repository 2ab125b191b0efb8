import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { requireField } from './fields.ts';
import { fieldView } from './view.ts';

export function declareSchema(parent: Command, ctx: Context): void {
  const command = parent.command('schema').description('list what can be set, with types, bounds and choices');
  command.argument('[key...]', 'only these');
  explain(command, {
    json: [
      '{"items":[{"name","type","nullable","secret","default","choices","minimum","maximum","description"}],"has_more":false}',
    ],
    exits: ['unsupported'],
    examples: [
      { command: 'acs settings schema', does: 'all settings of this server' },
      { command: 'acs settings schema max_iterations --json', does: 'the bounds of one' },
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
