import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { exitCodeOfStatus } from '../../runs/status.ts';
import { explain } from '../declare.ts';
import { checkWord, findOne } from '../resource/find.ts';
import { conversations } from './conversations.ts';
import { conversationView } from './view.ts';

export interface ShowOptions {
  exitStatus?: boolean;
}

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent
    .command('show')
    .aliases(['view', 'get'])
    .description('show a conversation and the status of its run');
  command.argument('<id>', 'the conversation').option('--exit-status', 'exit with the code of its status');
  explain(command, {
    notes: [
      'When the sandbox is paused or gone the last status of the run is read from the events, so that a finished run stays finished.',
      'cost_usd and tokens are null while the run continues, and when the server has no metrics as new as its end.',
      'With --exit-status: finished 0, failed or stuck 1, waiting or idle 8, anything else 6.',
    ],
    json: ({ objectForm }) => [objectForm(conversationView)],
    exits: ['failed', 'not-found', 'conflict', 'needs-input'],
    examples: [
      { command: 'acs conv show @last', does: 'show the last conversation that was started' },
      { command: 'acs conv show @last --fields status,reason --json', does: 'print its status and the reason' },
    ],
  });
  command.action((id: string, options: ShowOptions) => showConversation(id, options, ctx));
}

export async function showConversation(word: string, options: ShowOptions, ctx: Context): Promise<void> {
  ctx.out.check(conversationView, 'item');
  checkWord(conversations, word);
  const server = await ctx.server();
  const found = await findOne(ctx, server, conversations, word);
  const conversation = found.id === '' ? found : await server.conversations.getComplete(found.id);
  await ctx.out.item(conversationView, {
    ...conversation,
    start_task_id: conversation.start_task_id ?? found.start_task_id,
  });
  if (options.exitStatus) ctx.exitCode = exitCodeOfStatus(conversation.status);
}
