import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { View } from '../output/view.ts';
import { explain } from './declare.ts';
import { identify, IDENTITY_FIELDS, type Identity } from './identity.ts';

const identityView: View<Identity> = {
  noun: 'identity',
  id: (it) => it.user ?? '',
  fields: IDENTITY_FIELDS,
  table: ['profile', 'base_url', 'dialect', 'version', 'user'],
  tsv: IDENTITY_FIELDS.map((field) => field.name),
};

export function declareWhoami(root: Command, ctx: Context): void {
  const command = root
    .command('whoami')
    .description('show the server in force, who it takes you for, and where URL and key came from')
    .action(async () => whoami(ctx));
  explain(command, {
    notes: ['Never starts the local service: while it does not run, the exit code is 10.'],
    json: [
      '{"profile","base_url","base_url_source","key_source","dialect","dialects","version","flavour","features",',
      ' "user","email","organization"}',
    ],
    examples: [
      { command: 'acs whoami', does: 'the server in force' },
      { command: 'acs --profile local whoami --json', does: 'the local service, for a script' },
    ],
  });
}

async function whoami(ctx: Context): Promise<void> {
  ctx.out.check(identityView, 'item');
  const target = await ctx.target();
  for (const notice of target.notices) await ctx.notice(notice);
  await ctx.out.item(identityView, await identify(target, ctx));
}
