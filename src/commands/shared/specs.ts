import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Spec } from '../../domain/sandbox.ts';
import type { View } from '../../output/view.ts';
import { explain } from './declare.ts';
import { addPagingOptions, printList, type PagingOptions } from './lists.ts';

export const specView: View<Spec> = {
  noun: 'spec',
  id: (spec) => spec.id,
  fields: [
    { name: 'id', weight: 3 },
    { name: 'default', weight: 0 },
    { name: 'command', as: 'json', json: { list: true } },
    { name: 'working_dir', weight: 2 },
    { name: 'created_at', as: 'time', weight: 0 },
  ],
  table: ['id', 'default', 'working_dir', 'created_at'],
};

export function declare(noun: Command, ctx: Context): void {
  const command = noun.command('list').alias('ls').description('list the specs of the server');
  addPagingOptions(command);
  explain(command, {
    notes: ['The environment of a spec is not shown, because it may hold secrets.'],
    json: ({ listForm }) => [listForm(specView)],
    exits: ['failed', 'unsupported'],
    examples: {
      'acs specs list': 'list the specs of the server, with its default',
      'acs specs list -q': 'print the ids, for --spec',
    },
  });
  command.action(async (paging: PagingOptions) => {
    const fetch = (server: Server, page: string | null, pageSize: number) =>
      server.specs.list(page, pageSize);
    await printList(ctx, { view: specView, paging, fetch });
  });
}
