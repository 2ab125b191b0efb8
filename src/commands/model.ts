import type { Command } from 'commander';
import type { Context } from './context.ts';
import type { Model } from '../domain/settings.ts';
import type { View } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import { addPagingOptions, printList, type PagingOptions } from './shared/lists.ts';
import { listModels } from './shared/model-check.ts';

export const modelView: View<Model> = {
  noun: 'model',
  id: ({ id }) => id,
  fields: [
    { name: 'id', weight: 3 },
    { name: 'kind', weight: 0 },
    { name: 'context', as: 'number', weight: 0 },
    { name: 'input_price', as: 'usd', weight: 0 },
    { name: 'output_price', as: 'usd', weight: 0 },
  ],
};

export function declare(noun: Command, ctx: Context): void {
  const command = noun
    .command('list')
    .alias('ls')
    .description('list the models that --model takes on this server')
    .option('--search <text>', 'only models whose names contain this');
  addPagingOptions(command);
  explain(command, {
    notes: [
      'On the local service these are the models of the endpoint in its settings ' +
        '(llm_base_url); elsewhere those that the server lists. The kind is `profile` for a ' +
        'model profile of a backend, which --model takes too, and `verified` for a model that ' +
        'the server recommends; these come first.',
      'The context is in tokens, the prices are in USD for a million tokens; both are null ' +
        'where they are not known.',
    ],
    json: ({ listForm }) => [listForm(modelView)],
    exits: ['failed', 'unsupported'],
    examples: {
      'acs model list --search claude': 'list models by a part of their names',
      'acs settings set llm_model=<name>': 'use one from now on',
    },
  });
  command.action(({ search, ...paging }: PagingOptions & { search?: string }) => {
    const part = search?.toLowerCase() ?? '';
    return printList(ctx, {
      view: modelView,
      paging,
      fetch: (server, page, pageSize) => listModels(ctx, server, page, pageSize),
      ...(part !== '' && {
        filter: () => Promise.resolve(({ id }: Model) => id.toLowerCase().includes(part)),
      }),
    });
  });
}
