import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { applyWish } from './apply.ts';
import { requireField } from './fields.ts';
import { refuseIds } from './print.ts';

interface UnsetOptions {
  allowLoss?: boolean;
}

export function declareUnset(parent: Command, ctx: Context): void {
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

export async function unsetSettings(keys: readonly string[], options: UnsetOptions, ctx: Context): Promise<void> {
  refuseIds(ctx);
  const server = await ctx.server();
  const fields = await server.settings.schema();
  const unset = [...new Set(keys.map((key) => requireField(fields, key)))];
  await applyWish(ctx, { server, fields, wish: { set: new Map(), unset }, allowLoss: options.allowLoss });
}
