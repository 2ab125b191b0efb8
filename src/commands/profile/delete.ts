import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { ProfileStore } from '../../profiles/store.ts';
import { changeEach, confirmChange, readIds, type Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { profileRecord, profileView, type ProfileRecord } from './view.ts';
import { existingProfile, refuseLocal } from './write.ts';

interface DeleteOptions {
  ignoreNotFound?: boolean;
}

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent
    .command('delete <name...>')
    .aliases(['rm', 'remove'])
    .description('delete profiles and their stored keys')
    .option('--ignore-not-found', 'succeed when a profile does not exist')
    .action(async (names: string[], options: DeleteOptions) => deleteProfiles(names, options, ctx));
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. The name - reads names from stdin. The keys stay valid until they are revoked at the server. After the default is deleted there is no default.',
    ],
    json: ({ changeForms }) => changeForms(profileView, ['one name', 'several names']),
    exits: ['failed', 'not-found'],
    examples: [
      { command: 'acs profile delete work', does: 'delete one profile after a question' },
      { command: 'acs profile delete work home -y --ignore-not-found', does: 'delete two profiles in a script' },
    ],
  });
}

async function deleteProfiles(given: readonly string[], options: DeleteOptions, ctx: Context): Promise<void> {
  const single = given.length === 1 && given[0] !== '-';
  ctx.out.check(profileView, single ? 'item' : 'bulk');
  const names = await readIds(ctx, given);
  for (const name of names) refuseLocal(name, 'deleted');
  const store = await ctx.profiles();
  await (single ? deleteOne(names[0] ?? '', options, { ctx, store }) : deleteEach(names, options, { ctx, store }));
}

interface Place {
  ctx: Context;
  store: ProfileStore;
}

async function deleteOne(name: string, options: DeleteOptions, { ctx, store }: Place): Promise<void> {
  if (options.ignoreNotFound && (await store.get(name)) === null)
    return await ctx.out.item(profileView, absent(name), { changed: false });
  const record = profileRecord(await existingProfile(store, name), await store.defaultName());
  if (ctx.globals.mode === 'dry-run') return await printWouldDo(ctx, `would delete profile "${name}"`);
  await confirmChange(ctx, { message: `Delete profile "${name}" and its key?`, preview: [] });
  await store.remove(name);
  await ctx.out.item(profileView, record, { changed: true });
  if (record.default) await noticeNoDefault(ctx);
}

async function deleteEach(names: readonly string[], options: DeleteOptions, { ctx, store }: Place): Promise<void> {
  const defaultName = await store.defaultName();
  const apply = async ({ id: name }: { id: string }): Promise<Change<ProfileRecord>> => {
    if (options.ignoreNotFound && (await store.get(name)) === null)
      return { changed: false, before: null, after: null, record: absent(name) };
    const record = profileRecord(await existingProfile(store, name), defaultName);
    if (ctx.globals.mode === 'live') await store.remove(name);
    return { changed: true, before: 'present', after: null, record };
  };
  if (names.length > 0) {
    const preview = names.map((name) => `profile ${name}`);
    const what = names.length === 1 ? '1 profile and its key' : `${names.length} profiles and their keys`;
    await confirmChange(ctx, { message: `Delete ${what}?`, preview });
  }
  // One at a time: they share one file.
  await changeEach(ctx, {
    targets: names.map((id) => ({ id })),
    unresolved: [],
    pastTense: 'deleted',
    concurrency: 1,
    apply,
  });
  if (defaultName !== null && (await store.defaultName()) === null) await noticeNoDefault(ctx);
}

function absent(name: string): ProfileRecord {
  return { name, base_url: null, default: false, key_source: null, created_at: null };
}

async function noticeNoDefault(ctx: Context): Promise<void> {
  await ctx.notice('there is no default profile now; `acs profile use <name>` sets one');
}
