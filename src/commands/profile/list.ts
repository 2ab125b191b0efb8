import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { localRecord, profileRecord, profileView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent
    .command('list')
    .alias('ls')
    .description('list the profiles')
    .action(async () => listProfiles(ctx));
  explain(command, {
    json: ({ listForm }) => [listForm(profileView)],
    examples: [
      { command: 'acs profile list', does: 'list all profiles, the built-in one last; keys are never shown' },
      { command: 'acs profile list -q', does: 'print the names' },
    ],
  });
}

async function listProfiles(ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'list');
  const store = await ctx.profiles();
  const defaultName = await store.defaultName();
  const stored = (await store.list()).map((profile) => profileRecord(profile, defaultName));
  await ctx.out.list(profileView, [...stored, localRecord(defaultName)], { has_more: false });
}
