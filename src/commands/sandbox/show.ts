import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { findOne } from '../resource/find.ts';
import { sandboxes } from './sandboxes.ts';
import { sandboxView, sandboxWithKeyView } from './view.ts';

interface ShowOptions {
  showSecrets?: boolean;
}

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show a sandbox');
  command.argument('<id>', 'the sandbox').option('--show-secrets', 'also print the session key of its agent server');
  explain(command, {
    json: ({ objectForm }) => [objectForm(sandboxView), ['--show-secrets', objectForm(sandboxView, 'session_api_key')]],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs sandbox show @last', does: 'show the sandbox of the last conversation' },
      { command: 'acs sandbox show @last --fields status --format tsv', does: 'print only its status' },
    ],
  });
  command.action((id: string, options: ShowOptions) => showSandbox(id, options, ctx));
}

export async function showSandbox(word: string, options: ShowOptions, ctx: Context): Promise<void> {
  ctx.out.check(options.showSecrets ? sandboxWithKeyView : sandboxView, 'item');
  const server = await ctx.server();
  const sandbox = await findOne(ctx, server, sandboxes, word);
  if (!options.showSecrets) return await ctx.out.item(sandboxView, sandbox);
  const { session_api_key } = await server.sandboxes.secrets(sandbox.id);
  await ctx.out.item(sandboxWithKeyView, { ...sandbox, session_api_key });
}
