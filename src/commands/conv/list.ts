import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, type PagingOptions } from '../paging.ts';
import { listSelected } from '../resource/list.ts';
import { addSelectorOptions, type SelectorOptions } from '../selectors.ts';
import { conversations } from './conversations.ts';
import { conversationView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list conversations, newest first');
  addPagingOptions(addSelectorOptions(command, CONVERSATION_STATUSES));
  explain(command, {
    notes: [
      'A conversation is listed when it matches all selectors. --limit applies after the selectors.',
      'cost_usd and tokens are null in a list; acs conv show <id> prints them.',
    ],
    json: ({ listForm }) => [listForm(conversationView)],
    exits: ['failed'],
    examples: [
      { command: 'acs conv list --status running,waiting', does: 'list conversations that run or wait for you' },
      {
        command: "acs conv list --repo 'acme/*' --older-than 7d -q",
        does: 'print the ids of old conversations on repositories of acme',
      },
    ],
  });
  command.action((options: SelectorOptions & PagingOptions) => listSelected(ctx, conversations, options));
}
