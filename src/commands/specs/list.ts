import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, printList, type PagingOptions } from '../paging.ts';
import { specView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list the specs of the server');
  addPagingOptions(command);
  explain(command, {
    json: ({ listForm }) => [listForm(specView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs specs list', does: 'list the specs of the server, with its default' },
      { command: 'acs specs list -q', does: 'print the ids, for --spec' },
    ],
  });
  command.action((options: PagingOptions) => listSpecs(options, ctx));
}

export async function listSpecs(options: PagingOptions, ctx: Context): Promise<void> {
  await printList(ctx, {
    view: specView,
    paging: options,
    fetch: (server, page, pageSize) => server.specs.list(page, pageSize),
  });
}
