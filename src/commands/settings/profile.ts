/** Model settings that the server keeps under names; `acs profile` is another noun, of servers. */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isFailure } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { ModelProfile } from '../../domain/settings.ts';
import { SETTINGS_FIELDS } from '../../domain/settings-fields.ts';
import type { View } from '../../output/view.ts';
import { explain } from '../shared/declare.ts';
import { warnOfUnmasked } from '../shared/files.ts';
import { declareNamedDelete, declareNamedList, type NamedItems } from '../shared/named-items.ts';
import { callsModelFromHere, modelOf, tryModel } from '../shared/model-check.ts';
import { readAssignments, valuesOf } from './values.ts';
import { cut } from '../../base/text/well-formed.ts';

export const modelProfileView: View<ModelProfile> = {
  noun: 'model profile',
  id: ({ name }) => name,
  fields: [
    { name: 'name', weight: 0 },
    { name: 'model', weight: 2 },
    { name: 'base_url', weight: 2 },
    { name: 'api_key_set' },
    { name: 'active' },
  ],
};

const MODEL_PROFILES: NamedItems<ModelProfile> = {
  view: modelProfileView,
  command: 'acs settings profile',
  argument: 'name',
  examples: ['fast', 'cheap'],
  one: (name) => `model profile ${name}`,
  several: 'model profiles',
  paging: 'all at once',
  fetch: async (server) => ({ items: await server.modelProfiles.list(), next: null }),
  listHelp: {
    description: 'list the model profiles of the server; keys are never shown',
    exits: ['unsupported'],
  },
  deleteHelp: {
    notes: ['The current model settings are left unchanged.'],
    exits: ['conflict', 'unsupported'],
  },
  checkName,
  absent: (name) => ({ name, model: null, base_url: null, api_key_set: false, active: false }),
  remove: (server, name) => server.modelProfiles.remove(name),
};

export function declareModelProfile(parent: Command, ctx: Context): void {
  const command = parent
    .command('profile')
    .alias('profiles')
    .description('manage stored model settings of the server');
  declareNamedList(command, ctx, MODEL_PROFILES);

  const save = command
    .command('save')
    .description('store the current model settings, or others, as a model profile');
  save
    .argument('<name>', 'the model profile; an existing one is replaced')
    .argument(
      '[key=value...]',
      'llm_model=…, llm_base_url=…, llm_api_key=@file, llm_api_key=-, or llm_api_key alone',
    );
  explain(save, {
    notes: [
      'Without values the current model settings are stored, including the key. With values ' +
        'llm_model is required, settings that are not named get the default of the server, ' +
        'and an existing profile keeps its key unless another is given.',
    ],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['conflict', 'unsupported'],
    examples: {
      'acs settings profile save usual': 'store the current model settings',
      'acs settings profile save fast llm_model=openai/gpt-4o-mini': 'store other settings',
    },
  });
  save.action((name: string, words: string[]) => saveProfile(ctx, name, words));

  const use = command.command('use').description('use the settings of a model profile');
  use.argument('<name>', 'the profile');
  explain(use, {
    notes: ['New conversations start with its model; running ones keep theirs.'],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['not-found', 'unsupported'],
    examples: {
      'acs settings profile use fast': 'use the model profile "fast" from now on',
      'acs settings profile use fast --dry-run': 'print the request without sending it',
    },
  });
  use.action(async (name: string) => {
    ctx.out.check(modelProfileView, 'item');
    checkName(name);
    const server = await ctx.servers.active();
    const { changed, ...profile } = await server.modelProfiles.use(name);
    if (await callsModelFromHere(ctx, server)) await warnOfModel(ctx, server);
    const line = `${name} ${changed ? 'is' : 'was already'} in use`;
    await ctx.out.change(modelProfileView, profile, changed, line);
  });

  declareNamedDelete(command, ctx, MODEL_PROFILES);
}

/** The key of a profile cannot be read, so its model is called when it is in use. */
async function warnOfModel(ctx: Context, { settings }: Server): Promise<void> {
  try {
    await tryModel(ctx, modelOf(await settings.read()));
  } catch (error) {
    if (!isFailure(error)) throw error;
    await ctx.warn([error.message, error.details.hint].filter(Boolean).join('; '));
  }
}

async function saveProfile(ctx: Context, name: string, words: readonly string[]): Promise<void> {
  ctx.out.check(modelProfileView, 'item');
  checkName(name);
  const fields = SETTINGS_FIELDS.filter((field) =>
    ['llm_model', 'llm_base_url', 'llm_api_key'].includes(field.name),
  );
  const assignments = readAssignments(words, false);
  for (const assignment of assignments) {
    if (fields.some((field) => field.name === assignment.name)) continue;
    const known = fields.map((field) => field.name).join(', ');
    throw new AppError(
      'usage',
      `a model profile has no setting "${cut(assignment.name, 80)}"; it has ${known}`,
    );
  }
  const values = new Map(
    [...(await valuesOf(ctx, fields, assignments))].map(([field, value]) => [field.name, value]),
  );
  const textOf = (key: string): string | null => {
    const value = values.get(key);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const model = textOf('llm_model');
  if (words.length > 0 && model === null)
    throw new AppError('usage', 'a model profile with values needs llm_model=<model>');
  const choice =
    model === null
      ? null
      : { model, base_url: textOf('llm_base_url'), api_key: textOf('llm_api_key') };
  await warnOfUnmasked(ctx, 'llm_api_key', choice?.api_key);
  const server = await ctx.servers.active();
  const saved = await server.modelProfiles.save(name, choice);
  await ctx.out.change(modelProfileView, saved, true, `saved ${name}`);
}

function checkName(name: string): void {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name) && name !== '.' && name !== '..') return;
  throw new AppError('usage', `"${cut(name, 80)}" is not a valid name of a model profile`, {
    hint: 'up to 64 letters, digits, dots, dashes and underscores',
  });
}
