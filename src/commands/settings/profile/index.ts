/** Model settings kept under names at the server; not to be mixed up with `acs profile`, which names servers. */
import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { checkModelProfileName } from '../../../domain/model-profile.ts';
import { explain } from '../../declare.ts';
import { printList, type PagingOptions } from '../../paging.ts';
import { declareChange } from './change.ts';
import { declareSave } from './save.ts';
import { modelProfileDetailView, modelProfileView } from './view.ts';

export function declareModelProfile(parent: Command, ctx: Context): void {
  const command = parent.command('profile').alias('profiles').description('manage stored model settings of the server');
  declareRead(command, ctx);
  declareSave(command, ctx);
  declareChange(command, ctx);
}

function declareRead(parent: Command, ctx: Context): void {
  const list = parent.command('list').alias('ls').description('list the model profiles of the server');
  explain(list, {
    json: ({ listForm }) => [listForm(modelProfileView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs settings profile list', does: 'list names and models; keys are never shown' },
      { command: 'acs settings profile list -q', does: 'print the names' },
    ],
  });
  list.action(() => listModelProfiles(ctx));

  const show = parent.command('show').aliases(['view', 'get']).description('show a model profile');
  show.argument('<name>', 'the profile');
  explain(show, {
    notes: ['"config" holds all model settings under the names that the server uses, without keys.'],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'config')],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings profile show fast', does: 'show its model, its URL, and whether it has a key' },
      { command: 'acs settings profile show fast --fields config --json', does: 'print all of its settings' },
    ],
  });
  show.action((name: string) => showModelProfile(name, ctx));
}

/** There are ten at most: servers give them all at once. */
const ALL: PagingOptions = { allPages: true };

async function listModelProfiles(ctx: Context): Promise<void> {
  await printList(ctx, {
    view: modelProfileView,
    paging: ALL,
    fetch: async (server) => ({ items: await server.modelProfiles.list(), next: null }),
  });
}

async function showModelProfile(name: string, ctx: Context): Promise<void> {
  ctx.out.check(modelProfileDetailView, 'item');
  checkModelProfileName(name);
  const server = await ctx.server();
  await ctx.out.item(modelProfileDetailView, await server.modelProfiles.get(name));
}
