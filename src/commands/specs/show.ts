import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { specView } from './view.ts';

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show a spec');
  command.argument('<id>', 'a spec (acs specs list)');
  explain(command, {
    notes: ['The environment of a spec is not shown, because it may hold secrets.'],
    json: ({ objectForm }) => [objectForm(specView)],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs specs show process', does: 'show the spec of the local service that has no isolation' },
      { command: 'acs specs show process --json', does: 'print it as JSON' },
    ],
  });
  command.action((id: string) => showSpec(id, ctx));
}

export async function showSpec(id: string, ctx: Context): Promise<void> {
  ctx.out.check(specView, 'item');
  await ctx.out.item(specView, await (await ctx.server()).specs.get(id));
}
