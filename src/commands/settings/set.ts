import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { applySettings } from './apply.ts';
import { parseDocument, recordOf, valuesOfDocument } from './document.ts';
import { refuseIds } from './print.ts';
import { readAssignments, readText, valuesOf } from './assignments.ts';

interface SetOptions {
  file?: string;
  allowLoss?: boolean;
}

export function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('change the named settings');
  command
    .argument(
      '[key=value...]',
      'key=value, key=@file, key=- for stdin, or the key of a secret alone to be asked for it',
    )
    .option('--file <settings.json>', 'read a JSON object of settings, or - for stdin; arguments take precedence')
    .option('--allow-loss', 'write even when a secret that cannot be read back is lost');
  explain(command, {
    notes: [
      'Values are checked before they are sent. The changes are printed to stderr; unchanged settings are not written.',
      'A secret is read from a file, stdin or a prompt, never from the command line.',
      'A secret that is null or masked in --file is left unchanged.',
    ],
    json: () => ['{"<name>":<value>,…} of all settings, plus "changed"'],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs settings set max_iterations=7', does: 'change one setting' },
      {
        command: 'acs settings set llm_model=openai/gpt-4o llm_api_key=@key.txt',
        does: 'change the model, and read its key from a file',
      },
    ],
  });
  command.action((words: string[], options: SetOptions) => setSettings(words, options, ctx));
}

export async function setSettings(words: readonly string[], options: SetOptions, ctx: Context): Promise<void> {
  refuseIds(ctx);
  if (words.length === 0 && options.file === undefined) {
    throw new AppError('usage', 'nothing to set', { hint: 'acs settings set key=value, or --file settings.json' });
  }
  const assignments = readAssignments(words, options.file === '-');
  const source = options.file === '-' ? 'stdin' : (options.file ?? '');
  const document = options.file === undefined ? {} : parseDocument(await readText(ctx, options.file), source);
  const server = await ctx.server();
  const [fields, snapshot] = await Promise.all([server.settings.schema(), server.settings.read()]);
  const set = new Map<SettingsField, JsonValue>([
    ...valuesOfDocument(fields, document, recordOf(snapshot, fields)),
    ...(await valuesOf(ctx, fields, assignments)),
  ]);
  await applySettings(ctx, { server, fields, snapshot, requested: { set, unset: [] }, allowLoss: options.allowLoss });
}
