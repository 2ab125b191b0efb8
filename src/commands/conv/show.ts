import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { exitCodeOfStatus } from '../../domain/outcome.ts';
import { explain } from '../declare.ts';
import { checkIdWord, findConversation } from '../ids.ts';
import { CONVERSATION_JSON, conversationView } from './view.ts';

export interface ShowOptions {
  exitStatus?: boolean;
}

export function declareShow(parent: Command, ctx: Context): void {
  const command = parent
    .command('show')
    .aliases(['view', 'get'])
    .description('show a conversation and how its run stands');
  command.argument('<id>', 'the conversation').option('--exit-status', 'end with the exit code of its state');
  explain(command, {
    notes: [
      'A run that finished stays finished when its sandbox is paused or gone: its last state is looked up in the events.',
      'cost_usd and tokens are null while the run continues, and when the server has no metrics as new as its end.',
      'With --exit-status: finished 0, failed or stuck 1, waiting or idle 8, anything else 6.',
    ],
    json: [CONVERSATION_JSON],
    exits: ['failed', 'not-found', 'conflict', 'needs-input'],
    examples: [
      { command: 'acs conv show @last', does: 'shows the last conversation that was started' },
      { command: 'acs conv show @last --fields status,reason --json', does: 'how it stands, and why' },
    ],
  });
  command.action((id: string, options: ShowOptions) => showConversation(id, options, ctx));
}

export async function showConversation(word: string, options: ShowOptions, ctx: Context): Promise<void> {
  ctx.out.check(conversationView, 'item');
  checkIdWord(word);
  const server = await ctx.server();
  const found = await findConversation(ctx, server, word);
  const conversation = found.id === '' ? found : await server.conversations.getSettled(found.id);
  await ctx.out.item(conversationView, {
    ...conversation,
    start_task_id: conversation.start_task_id ?? found.start_task_id,
  });
  if (options.exitStatus) ctx.exitCode = exitCodeOfStatus(conversation);
}
