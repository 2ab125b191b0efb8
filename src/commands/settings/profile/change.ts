import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import type { ModelProfile } from '../../../domain/model-profile.ts';
import { isAppError } from '../../../errors.ts';
import { confirmChange, endOfDryRun } from '../../bulk.ts';
import { explain } from '../../declare.ts';
import { checkModelProfileName } from './name.ts';
import { MODEL_PROFILE_JSON, modelProfileView } from './view.ts';

interface DeleteOptions {
  ignoreNotFound?: boolean;
}

export function declareChange(parent: Command, ctx: Context): void {
  const use = parent.command('use').description('make a model profile the current model settings');
  use.argument('<name>', 'the profile');
  explain(use, {
    notes: [
      'New conversations start with it; those that run keep their model.',
      'One that is in use and has not been departed from since is used again: exit 0, "changed":false.',
    ],
    json: [`${MODEL_PROFILE_JSON} plus "changed"`],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings profile use fast', does: 'new conversations start with its model' },
      { command: 'acs settings profile use fast --dry-run', does: 'shows the request only' },
    ],
  });
  use.action((name: string) =>
    changeModelProfile(ctx, [name], async (server) => {
      const before = (await server.modelProfiles.list()).find((profile) => profile.name === name);
      return { profile: await server.modelProfiles.use(name), changed: before?.active !== true };
    }),
  );

  const rename = parent.command('rename').description('give a model profile another name');
  rename.argument('<name>', 'the profile').argument('<new-name>', 'its new name');
  explain(rename, {
    json: [`${MODEL_PROFILE_JSON} plus "changed"`],
    exits: ['not-found', 'conflict', 'unsupported'],
    examples: [
      { command: 'acs settings profile rename fast cheap', does: 'a name that is taken is a conflict (6)' },
      { command: 'acs settings profile rename fast cheap --dry-run', does: 'shows the request only' },
    ],
  });
  rename.action((name: string, newName: string) =>
    changeModelProfile(ctx, [name, newName], async (server) => ({
      profile: await server.modelProfiles.rename(name, newName),
      changed: name !== newName,
    })),
  );

  const remove = parent.command('delete').aliases(['rm', 'remove']).description('delete a model profile; asks first');
  remove.argument('<name>', 'the profile').option('--ignore-not-found', 'a profile that is not there is no error');
  explain(remove, {
    notes: ['The current model settings stay as they are.'],
    json: [`${MODEL_PROFILE_JSON} plus "changed"`],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs settings profile delete fast', does: 'asks on a terminal' },
      { command: 'acs settings profile delete fast -y --ignore-not-found', does: 'in a script' },
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
  if (before !== undefined) await confirmChange(ctx, { message: `delete model profile ${name}?`, hit: [] });
  try {
    await server.modelProfiles.remove(name);
  } catch (error) {
    if (!ignoreNotFound || !isAppError(error) || error.kind !== 'not-found') throw error;
    return await ctx.out.item(modelProfileView, absent, { changed: false });
  }
  if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  await ctx.out.item(modelProfileView, before ?? absent, { changed: true });
}
