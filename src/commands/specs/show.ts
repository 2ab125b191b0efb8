import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { SPEC_JSON, specView } from './view.ts';

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show one spec');
  command.argument('<id>', 'the spec, as acs specs list prints it');
  explain(command, {
    notes: ['The values of its environment are not shown: they may be secrets of whoever runs the server.'],
    json: [SPEC_JSON],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs specs show process', does: 'shows the spec without isolation of the local service' },
      { command: 'acs specs show process --json', does: 'the same as one JSON object' },
    ],
  });
  command.action((id: string) => showSpec(id, ctx));
}

export async function showSpec(id: string, ctx: Context): Promise<void> {
  ctx.out.check(specView, 'item');
  await ctx.out.item(specView, await (await ctx.server()).specs.get(id));
}
