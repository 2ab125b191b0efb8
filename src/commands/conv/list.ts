import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CONVERSATION_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../shared/declare.ts';
import {
  addPagingOptions,
  printList,
  type PagingOptions,
  selectedList,
  addSelectorOptions,
  type SelectorOptions,
} from '../shared/lists.ts';
import { conversations, conversationView } from './conversations.ts';

export function declare(command: Command, ctx: Context): void {
  addPagingOptions(addSelectorOptions(command, CONVERSATION_STATUSES));
  explain(command, {
    notes: [
      'A conversation is listed when it matches all selectors. --limit applies after the ' +
        'selectors.',
      'cost_usd and tokens are null in a list; acs conv show <id> prints them.',
    ],
    json: ({ listForm }) => [listForm(conversationView)],
    exits: ['failed'],
    examples: [
      {
        command: 'acs conv list --status running,waiting',
        does: 'list conversations that run or wait for you',
      },
      {
        command: "acs conv list --repo 'acme/*' --older-than 7d -q",
        does: 'print the ids of old ones of acme',
      },
    ],
  });
  command.action((options: SelectorOptions & PagingOptions) =>
    printList(ctx, selectedList(ctx, conversations, options)),
  );
}
