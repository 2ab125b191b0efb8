import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CONVERSATION_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../shared/declare.ts';
import { duration } from '../shared/option-parsers.ts';
import {
  addPagingOptions,
  addWatch,
  printList,
  type PagingOptions,
  selectedList,
  addSelectorOptions,
  type SelectorOptions,
  WATCH_NOTE,
} from '../shared/lists.ts';
import { conversations, conversationView } from './conversations.ts';
import type { ExtendedOptions } from './list-extended.ts';

/** Without the notice that each reading would repeat. */
const silent: typeof conversations = {
  ...conversations,
  list: (server, page, pageSize) => server.conversations.list({ pageSize }, page),
};

export function declare(command: Command, ctx: Context): void {
  addSelectorOptions(command, CONVERSATION_STATUSES)
    .optionsGroup('Selectors:')
    .option('--newer-than <duration>', 'created less than this long ago', duration)
    .option('--search <text>', 'the title or the repository contains this text, in any case')
    .optionsGroup('Flags:');
  addWatch(addPagingOptions(command), 'cost', 'allProfiles')
    .option('--cost', 'read the costs that the list lacks, and print the total')
    .option('--all-profiles', 'list the conversations of all profiles, with their profile');
  explain(command, {
    notes: [
      'A conversation is listed when it matches all selectors. --limit applies after the ' +
        'selectors.',
      WATCH_NOTE,
      '--cost reads cost_usd and tokens of at most 1,000 conversations, which are null in most ' +
        'lists; the cost of a run in progress is not known. The total is on stderr, in JSON ' +
        '"total" {cost_usd, tokens, unknown}.',
      '--all-profiles lists the local service only if it runs. A server without an answer in ' +
        '15 s is a warning, and exit code 1. JSON items have "profile", tsv has it last.',
    ],
    json: ({ listForm }) => [listForm(conversationView)],
    exits: ['failed'],
    examples: {
      'acs conv list --status running,waiting': 'list conversations that run or wait for you',
      "acs conv list --repo 'acme/*' --older-than 7d -q": 'print the ids of old ones of acme',
      'acs conv list --cost --newer-than 7d --all-pages --all-profiles':
        'print what the conversations of this week cost, on all servers',
    },
  });
  command.action(async (options: SelectorOptions & PagingOptions & ExtendedOptions) => {
    const { cost, allProfiles, watch } = options;
    const request = selectedList(ctx, watch || allProfiles ? silent : conversations, options);
    if (!cost && !allProfiles) return await printList(ctx, request);
    await (await import('./list-extended.ts')).printExtended(ctx, request, options);
  });
}
