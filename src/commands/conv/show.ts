import type { Command } from 'commander';
import type { Context } from '../../cli/context.ts';
import { exitCodeOfStatus } from '../../runs/status.ts';
import { explain } from '../declare.ts';
import { checkWord, findOne } from '../resource/resource.ts';
import { conversations, conversationView } from './conversations.ts';

export function declare(command: Command, ctx: Context): void {
  command.argument('<id>', 'the conversation').option('--exit-status', 'exit with the code of its status');
  explain(command, {
    notes: [
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
  command.action(async (given: string, options: { exitStatus?: boolean }) => {
    ctx.out.check(conversationView, 'item');
    checkWord(conversations, given);
    const server = await ctx.server();
    const found = await findOne(ctx, server, conversations, given);
    const conversation = found.id === '' ? found : await server.conversations.getComplete(found.id);
    const shown = { ...conversation, start_task_id: conversation.start_task_id ?? found.start_task_id };
    // The first column of tsv names the record, also one that has only the id of its start task, as -q does.
    const id = ctx.out.format === 'tsv' ? conversationView.id(shown) : shown.id;
    await ctx.out.item(conversationView, { ...shown, id });
    if (options.exitStatus) ctx.exitCode = exitCodeOfStatus(conversation.status);
  });
}
