import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, printList, type PagingOptions } from '../paging.ts';
import { secretView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list the names of secrets; values are never shown');
  addPagingOptions(command);
  explain(command, {
    json: ({ listForm }) => [listForm(secretView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs secret list', does: 'list names and descriptions' },
      { command: 'acs secret list --all-pages -q', does: 'print all names, one a line' },
    ],
  });
  command.action((options: PagingOptions) => listSecrets(options, ctx));
}

export async function listSecrets(options: PagingOptions, ctx: Context): Promise<void> {
  await printList(ctx, {
    view: secretView,
    paging: options,
    fetch: (server, page, pageSize) => server.secrets.list(page, pageSize),
  });
}
