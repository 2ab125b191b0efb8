import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import { AppError, isAppError } from '../../errors.ts';
import { explain } from '../declare.ts';
import { applySettings } from './apply.ts';
import { parseDocument, recordOf, valuesOfDocument } from './document.ts';
import { refuseIds } from './print.ts';

interface EditOptions {
  allowLoss?: boolean;
}

export function declareEdit(parent: Command, ctx: Context): void {
  const command = parent.command('edit').description('edit settings in $VISUAL or $EDITOR');
  command.option('--allow-loss', 'write even when a secret that cannot be read back is lost');
  explain(command, {
    notes: [
      'The file holds all settings but the secrets. A removed line leaves the setting unchanged; null clears it.',
      'An invalid file opens the editor again. An unchanged file writes nothing.',
    ],
    json: () => ['{"<name>":<value>,…} of all settings, plus "changed"'],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs settings edit', does: 'edit the settings' },
      { command: 'EDITOR=nano acs settings edit -p work', does: 'edit the settings of another profile in nano' },
    ],
  });
  command.action((options: EditOptions) => editSettings(options, ctx));
}

export async function editSettings(options: EditOptions, ctx: Context): Promise<void> {
  refuseIds(ctx);
  if (!ctx.interactive) {
    throw new AppError('usage', 'an editor needs a terminal', { hint: 'use acs settings set key=value or --file' });
  }
  const server = await ctx.server();
  const [fields, snapshot] = await Promise.all([server.settings.schema(), server.settings.read()]);
  const plain = fields.filter((field) => !field.secret);
  const set = await editUntilRight(ctx, fields, recordOf(snapshot, plain));
  await applySettings(ctx, { server, fields, snapshot, requested: { set, unset: [] }, allowLoss: options.allowLoss });
}

async function editUntilRight(
  ctx: Context,
  fields: readonly SettingsField[],
  current: Record<string, JsonValue>,
): Promise<Map<SettingsField, JsonValue>> {
  const prompt = await ctx.prompt();
  const initial = `${JSON.stringify(current, null, 2)}\n`;
  let text = initial;
  for (;;) {
    text = await prompt.editor({ message: 'Settings', initial: text, extension: '.json' });
    if (text === initial) return new Map();
    try {
      return valuesOfDocument(fields, parseDocument(text, 'the file'), current);
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'usage') throw error;
      await ctx.warn(error.details.hint ? `${error.message} (${error.details.hint})` : error.message);
      if (!(await prompt.confirm({ message: 'Edit it again?', default: 'yes' }))) {
        throw new AppError('usage', 'nothing was changed, because the file is invalid');
      }
    }
  }
}
