import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import type { ModelChoice } from '../../../domain/model-profile.ts';
import { SETTINGS_FIELDS } from '../../../domain/settings-fields.ts';
import { AppError } from '../../../errors.ts';
import { explain } from '../../declare.ts';
import { readAssignments, valuesOf, type Assignment } from '../wish.ts';
import { checkModelProfileName } from './name.ts';
import { MODEL_PROFILE_JSON, modelProfileView } from './view.ts';

const TAKEN = ['llm_model', 'llm_base_url', 'llm_api_key'] as const;

export function declareSave(parent: Command, ctx: Context): void {
  const command = parent.command('save').description('keep the current model settings, or others, under a name');
  command
    .argument('<name>', 'the profile; one that exists is replaced')
    .argument(
      '[key=value...]',
      'llm_model=…, llm_base_url=…, llm_api_key=@file, llm_api_key=- or llm_api_key to be asked',
    );
  explain(command, {
    notes: [
      'Without values it keeps what acs settings shows now, key included. With values llm_model is needed, and what is\n' +
        'not named is the default of the server; the key of a profile that exists stays unless another is given.',
    ],
    json: [`${MODEL_PROFILE_JSON} plus "changed"`],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs settings profile save usual', does: 'keeps the current model settings' },
      {
        command: 'acs settings profile save fast llm_model=openai/gpt-4o-mini llm_api_key=@key.txt',
        does: 'keeps others, and leaves the current ones as they are',
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
    throw new AppError('usage', `a model profile takes ${TAKEN.join(', ')}, and not "${assignment.name.slice(0, 80)}"`);
  }
  if (!assignments.some((assignment) => assignment.name === 'llm_model')) {
    throw new AppError('usage', 'which model? a profile with values of its own needs llm_model=…');
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
