import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { confirmChange } from '../bulk.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { profileRecord, profileView } from './view.ts';
import { existingProfile, refuseLocal } from './write.ts';

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent
    .command('delete <name>')
    .aliases(['rm', 'remove'])
    .description('forget a profile and its key; asks first')
    .option('--ignore-not-found', 'a profile that is not there is no error')
    .action(async (name: string, options: { ignoreNotFound?: boolean }) => deleteProfile(name, options, ctx));
  explain(command, {
    notes: ['The key itself stays valid: revoke it at the server. Deleting the default leaves no default.'],
    json: ['{"name","base_url","default","key_source","created_at","changed"}'],
    exits: ['not-found'],
    examples: [
      { command: 'acs profile delete work', does: 'asks on a terminal' },
      { command: 'acs profile delete work -y --ignore-not-found', does: 'in a script' },
    ],
  });
}

async function deleteProfile(name: string, options: { ignoreNotFound?: boolean }, ctx: Context): Promise<void> {
  ctx.out.check(profileView, 'item');
  refuseLocal(name, 'deleted');
  const store = await ctx.profiles();
  if (options.ignoreNotFound && (await store.get(name)) === null) {
    const absent = { name, base_url: null, default: false, key_source: null, created_at: null };
    return await ctx.out.item(profileView, absent, { changed: false });
  }
  const record = profileRecord(await existingProfile(store, name), await store.defaultName());
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, `would delete profile "${name}"`);
  await confirmChange(ctx, { message: `Delete profile "${name}" and its key?`, hit: [] });
  await store.remove(name);
  await ctx.out.item(profileView, record, { changed: true });
  if (record.default) await ctx.notice('there is no default profile now; `acs profile use <name>` sets one');
}
