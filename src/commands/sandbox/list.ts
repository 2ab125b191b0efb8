import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, type PagingOptions } from '../paging.ts';
import { listSelected } from '../resource/list.ts';
import { addSelectorOptions, type SelectorOptions } from '../selectors.ts';
import { sandboxes } from './sandboxes.ts';
import { sandboxView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list sandboxes, newest first');
  addPagingOptions(addSelectorOptions(command, SANDBOX_STATUSES));
  explain(command, {
    notes: ['A sandbox is listed when it matches all selectors. --limit applies after the selectors.'],
    json: ({ listForm }) => [listForm(sandboxView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs sandbox list --status running', does: 'list the running sandboxes' },
      { command: 'acs sandbox list --not-status paused --idle 2h -q', does: 'print the ids of idle sandboxes' },
    ],
  });
  command.action((options: SelectorOptions & PagingOptions) => listSelected(ctx, sandboxes, options));
}
