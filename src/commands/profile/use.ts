import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { LOCAL, profileView } from './view.ts';
import { existingProfile, printProfile } from './write.ts';

export function declareUse(parent: Command, ctx: Context): void {
  const command = parent
    .command('use <name>')
    .description('set the default profile')
    .action(async (name: string) => setDefaultProfile(name, ctx));
  explain(command, {
    notes: ['--profile, ACS_BASE_URL and ACS_PROFILE take precedence over the default.'],
    json: ({ objectForm }) => [objectForm(profileView, 'changed')],
    exits: ['not-found'],
    examples: [
      { command: 'acs profile use work', does: 'use this server in commands without --profile' },
      { command: 'acs profile use local', does: 'use the local service, also off a terminal' },
    ],
  });
}

async function setDefaultProfile(name: string, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  const store = await ctx.profiles();
  if (name !== LOCAL) await existingProfile(store, name);
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, `would make "${name}" the default profile`);
  const changed = (await store.defaultName()) !== name;
  if (changed) await store.setDefault(name);
  await printProfile(ctx, store, name, changed);
}
