import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, printList, type PagingOptions } from '../paging.ts';
import { SPEC_JSON, specView } from './view.ts';

export function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list what sandboxes can be made from');
  addPagingOptions(command);
  explain(command, {
    json: [`{"items":[${SPEC_JSON}],"has_more":false}`],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs specs list', does: 'the specs of this server and which is its default' },
      { command: 'acs specs list -q', does: 'their ids, for --spec' },
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
