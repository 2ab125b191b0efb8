import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { worstCode } from '../../runs/outcome.ts';
import { exitCodeOfStatus } from '../../runs/status.ts';
import { explain } from '../shared/declare.ts';
import { showRecords } from '../shared/resource.ts';
import { conversations, conversationView } from './conversations.ts';

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<id...>', 'the conversations; - reads ids from stdin')
    .option('--exit-status', 'exit with the code of its status, or the worst of several');
  explain(command, {
    notes: [
      'cost_usd and tokens are null while the run continues, and when the server has no ' +
        'metrics as new as its end.',
      'With --exit-status: finished 0, failed or stuck 1, waiting or idle 8, anything else 6.',
    ],
    json: ({ objectForm, listForm }) => [
      ['one id', objectForm(conversationView)],
      ['several ids', listForm(conversationView)],
    ],
    exits: ['failed', 'not-found', 'conflict', 'needs-input'],
    examples: {
      'acs conv show @last': 'show the last conversation that was started',
      'acs conv show @last --fields status,reason --json': 'print its status and the reason',
    },
  });
  command.action(async (given: string[], options: { exitStatus?: boolean }) => {
    ctx.out.page();
    const shown = await showRecords(ctx, conversations, given, {
      view: conversationView,
      async read(server, found) {
        const conversation =
          found.id === '' ? found : await server.conversations.getComplete(found);
        const named = {
          ...conversation,
          start_task_id: conversation.start_task_id ?? found.start_task_id,
        };
        // The first column of tsv names the record, also one that has only a start task, as -q.
        return ctx.out.format === 'tsv' ? { ...named, id: conversationView.id(named) } : named;
      },
    });
    if (options.exitStatus)
      ctx.exitCode = worstCode(shown.map(({ status }) => exitCodeOfStatus(status)));
  });
}
