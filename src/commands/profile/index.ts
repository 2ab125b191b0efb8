/**
 * `acs profile`: named servers and where their keys are. Storing and resolving is in src/profiles; here are the
 * commands and what they print.
 */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { printWouldDo } from '../dry-run.ts';
import { declareAdd } from './add.ts';
import { declareDelete } from './delete.ts';
import { declareShow } from './show.ts';
import { LOCAL, localRecord, profileRecord, profileView } from './view.ts';
import { existingProfile, printProfile, refuseLocal } from './write.ts';

export function declareProfile(root: Command, ctx: Context): void {
  const profile = root.command('profile').description('store servers and their keys under names');
  declareAdd(profile, ctx);
  declareList(profile, ctx);
  declareShow(profile, ctx);
  declareUse(profile, ctx);
  declareRename(profile, ctx);
  declareDelete(profile, ctx);
}

function declareList(parent: Command, ctx: Context): void {
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

function declareUse(parent: Command, ctx: Context): void {
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

function declareRename(parent: Command, ctx: Context): void {
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
