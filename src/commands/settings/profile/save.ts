import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { checkModelProfileName, type ModelChoice } from '../../../domain/model-profile.ts';
import { SETTINGS_FIELDS } from '../../../domain/settings-fields.ts';
import { AppError } from '../../../errors.ts';
import { explain } from '../../declare.ts';
import { readAssignments, valuesOf, type Assignment } from '../assignments.ts';
import { modelProfileView } from './view.ts';

const TAKEN = ['llm_model', 'llm_base_url', 'llm_api_key'] as const;

export function declareSave(parent: Command, ctx: Context): void {
  const command = parent.command('save').description('store the current model settings, or others, as a model profile');
  command
    .argument('<name>', 'the model profile; an existing one is replaced')
    .argument(
      '[key=value...]',
      'llm_model=…, llm_base_url=…, llm_api_key=@file, llm_api_key=-, or llm_api_key to be asked',
    );
  explain(command, {
    notes: [
      'Without values the current model settings are stored, including the key. With values llm_model is required, settings that are not named get the default of the server, and an existing profile keeps its key unless another is given.',
    ],
    json: ({ objectForm }) => [objectForm(modelProfileView, 'changed')],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs settings profile save usual', does: 'store the current model settings' },
      {
        command: 'acs settings profile save fast llm_model=openai/gpt-4o-mini llm_api_key=@key.txt',
        does: 'store other settings; the current ones are left unchanged',
      },
    ],
  });
  command.action((name: string, words: string[]) => saveModelProfile(name, words, ctx));
}

async function saveModelProfile(name: string, words: readonly string[], ctx: Context): Promise<void> {
  ctx.out.check(modelProfileView, 'item');
  checkModelProfileName(name);
  const choice = words.length === 0 ? null : await choiceOf(ctx, readAssignments(words, false));
  const server = await ctx.server();
  await ctx.out.item(modelProfileView, await server.modelProfiles.save(name, choice), { changed: true });
}

async function choiceOf(ctx: Context, assignments: readonly Assignment[]): Promise<ModelChoice> {
  const fields = SETTINGS_FIELDS.filter((field) => (TAKEN as readonly string[]).includes(field.name));
  for (const assignment of assignments) {
    if (fields.some((field) => field.name === assignment.name)) continue;
    throw new AppError(
      'usage',
      `a model profile has no setting "${assignment.name.slice(0, 80)}"; it takes ${TAKEN.join(', ')}`,
    );
  }
  if (!assignments.some((assignment) => assignment.name === 'llm_model')) {
    throw new AppError('usage', 'a model profile with values needs llm_model=<model>');
  }
  const values = new Map([...(await valuesOf(ctx, fields, assignments))].map(([field, value]) => [field.name, value]));
  const text = (name: (typeof TAKEN)[number]): string | null => {
    const value = values.get(name);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const model = text('llm_model');
  if (model === null) throw new AppError('usage', 'llm_model is empty');
  return { model, base_url: text('llm_base_url'), api_key: text('llm_api_key') };
}
