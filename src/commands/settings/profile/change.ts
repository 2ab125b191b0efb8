import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { checkModelProfileName, type ModelProfile } from '../../../domain/model-profile.ts';
import { isAppError } from '../../../errors.ts';
import { confirmChange, endOfDryRun } from '../../bulk.ts';
import { explain } from '../../declare.ts';
import { modelProfileView } from './view.ts';

interface DeleteOptions {
  ignoreNotFound?: boolean;
}

export function declareChange(parent: Command, ctx: Context): void {
  const use = parent.command('use').description('use the settings of a model profile');
  use.argument('<name>', 'the profile');
  explain(use, {
    notes: [
      'New conversations start with its model; running ones keep theirs.',
      'When its settings are the current ones nothing changes: exit 0, "changed":false.',
    ],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings profile use fast', does: 'use the model profile "fast" from now on' },
      { command: 'acs settings profile use fast --dry-run', does: 'print the request without sending it' },
    ],
  });
  use.action((name: string) =>
    changeModelProfile(ctx, [name], async (server) => {
      const before = (await server.modelProfiles.list()).find((profile) => profile.name === name);
      return { profile: await server.modelProfiles.use(name), changed: before?.active !== true };
    }),
  );

  const rename = parent.command('rename').description('rename a model profile');
  rename.argument('<name>', 'the profile').argument('<new-name>', 'its new name');
  explain(rename, {
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['not-found', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs settings profile rename fast cheap', does: 'rename it; an existing name is a conflict (6)' },
      { command: 'acs settings profile rename fast cheap --dry-run', does: 'print the request without sending it' },
    ],
  });
  rename.action((name: string, newName: string) =>
    changeModelProfile(ctx, [name, newName], async (server) => ({
      profile: await server.modelProfiles.rename(name, newName),
      changed: name !== newName,
    })),
  );

  const remove = parent.command('delete').aliases(['rm', 'remove']).description('delete a model profile');
  remove.argument('<name>', 'the profile').option('--ignore-not-found', 'succeed when the profile does not exist');
  explain(remove, {
    notes: ['Asks for confirmation unless -y is given. The current model settings are left unchanged.'],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings profile delete fast', does: 'delete it after a question' },
      { command: 'acs settings profile delete fast -y --ignore-not-found', does: 'delete it in a script' },
    ],
  });
  remove.action((name: string, options: DeleteOptions) => deleteModelProfile(name, options, ctx));
}

type Port = Awaited<ReturnType<Context['server']>>;

async function changeModelProfile(
  ctx: Context,
  names: readonly string[],
  change: (server: Port) => Promise<{ profile: ModelProfile; changed: boolean }>,
): Promise<void> {
  ctx.out.check(modelProfileView, 'item');
  for (const name of names) checkModelProfileName(name);
  const { profile, changed } = await change(await ctx.server());
  await ctx.out.item(modelProfileView, profile, { changed });
}

async function deleteModelProfile(name: string, { ignoreNotFound }: DeleteOptions, ctx: Context): Promise<void> {
  ctx.out.check(modelProfileView, 'item');
  checkModelProfileName(name);
  const server = await ctx.server();
  const before = (await server.modelProfiles.list()).find((profile) => profile.name === name);
  const absent: ModelProfile = { name, model: null, base_url: null, api_key_set: false, active: false };
  if (before !== undefined) await confirmChange(ctx, { message: `delete model profile ${name}?`, preview: [] });
  try {
    await server.modelProfiles.remove(name);
  } catch (error) {
    if (!ignoreNotFound || !isAppError(error) || error.kind !== 'not-found') throw error;
    return await ctx.out.item(modelProfileView, absent, { changed: false });
  }
  if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  await ctx.out.item(modelProfileView, before ?? absent, { changed: true });
}
