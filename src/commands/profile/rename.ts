import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { profileView } from './view.ts';
import { existingProfile, printProfile, refuseLocal } from './write.ts';

export function declareRename(parent: Command, ctx: Context): void {
  const command = parent
    .command('rename <name> <new-name>')
    .description('rename a profile')
    .action(async (from: string, to: string) => renameProfile(from, to, ctx));
  explain(command, {
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['not-found', 'conflict'],
    examples: [
      { command: 'acs profile rename work staging', does: 'rename a profile; a default stays the default' },
      { command: 'acs profile rename work staging --dry-run', does: 'check the names without storing' },
    ],
  });
}

async function renameProfile(from: string, to: string, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  refuseLocal(from, 'renamed');
  const store = await ctx.profiles();
  const profile = await existingProfile(store, from);
  store.draft(to, profile.base_url);
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, `would rename profile "${from}" to "${to}"`);
  if (from !== to) await store.rename(from, to);
  await printProfile(ctx, store, to, from !== to);
}
