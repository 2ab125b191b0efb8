/** The user's secrets at the server: what every sandbox gets as environment variables. Values are never shown. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, type PagingOptions, printList } from '../paging.ts';
import { declareDelete } from './delete.ts';
import { declareSet } from './set.ts';
import { secretView } from './view.ts';

export function declareSecret(root: Command, ctx: Context): void {
  const command = root
    .command('secret')
    .alias('secrets')
    .description('manage the secrets that sandboxes get as variables');
  declareList(command, ctx);
  declareSet(command, ctx);
  declareDelete(command, ctx);
}

function declareList(parent: Command, ctx: Context): void {
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

async function listSecrets(options: PagingOptions, ctx: Context): Promise<void> {
  await printList(ctx, {
    view: secretView,
    paging: options,
    fetch: (server, page, pageSize) => server.secrets.list(page, pageSize),
  });
}
