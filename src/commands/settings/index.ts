/** The noun `settings`: the user's settings on the server, under the same flat names on every dialect. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { applySettings } from './apply.ts';
import { declareEdit } from './edit.ts';
import { requireField } from './fields.ts';
import { declareGet } from './get.ts';
import { refuseIds } from './print.ts';
import { declareModelProfile } from './profile/index.ts';
import { declareSet } from './set.ts';
import { fieldView } from './view.ts';

export function declareSettings(root: Command, ctx: Context): void {
  const command = root.command('settings').alias('setting').description('read and change your settings on the server');
  declareGet(command, ctx);
  declareSet(command, ctx);
  declareUnset(command, ctx);
  declareEdit(command, ctx);
  declareSchema(command, ctx);
  declareModelProfile(command, ctx);
}

function declareSchema(parent: Command, ctx: Context): void {
  const command = parent.command('schema').description('list the settings, with types, bounds and choices');
  command.argument('[key...]', 'names of settings; default: all');
  explain(command, {
    json: ({ listForm }) => [listForm(fieldView)],
    exits: ['unsupported'],
    examples: [
      { command: 'acs settings schema', does: 'list all settings of the server' },
      { command: 'acs settings schema max_iterations --json', does: 'print the bounds of one setting' },
    ],
  });
  command.action((keys: string[]) => listFields(keys, ctx));
}

async function listFields(keys: readonly string[], ctx: Context): Promise<void> {
  ctx.out.check(fieldView, 'list');
  const fields = await (await ctx.server()).settings.schema();
  const chosen = keys.length === 0 ? fields : keys.map((key) => requireField(fields, key));
  await ctx.out.list(fieldView, chosen, { has_more: false });
}

interface UnsetOptions {
  allowLoss?: boolean;
}

function declareUnset(parent: Command, ctx: Context): void {
  const command = parent.command('unset').aliases(['rm', 'remove', 'delete']);
  command
    .description('clear settings, or reset them to their defaults')
    .argument('<key...>', 'names of settings (acs settings schema)')
    .option('--allow-loss', 'write even when a secret that cannot be read back is lost');
  explain(command, {
    json: () => ['{"<name>":<value>,…} of all settings, plus "changed"'],
    exits: ['conflict', 'unsupported'],
    examples: [
      { command: 'acs settings unset llm_base_url', does: "use the provider's own URL again" },
      { command: 'acs settings unset search_api_key', does: 'delete that key on the server' },
    ],
  });
  command.action((keys: string[], options: UnsetOptions) => unsetSettings(keys, options, ctx));
}

async function unsetSettings(keys: readonly string[], options: UnsetOptions, ctx: Context): Promise<void> {
  refuseIds(ctx);
  const server = await ctx.server();
  const fields = await server.settings.schema();
  const unset = [...new Set(keys.map((key) => requireField(fields, key)))];
  await applySettings(ctx, { server, fields, requested: { set: new Map(), unset }, allowLoss: options.allowLoss });
}
