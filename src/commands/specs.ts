/** The noun `specs`: what sandboxes are created from. */
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { Spec } from '../domain/spec.ts';
import type { View } from '../output/view.ts';
import { explain } from './declare.ts';
import { addPagingOptions, printList, type PagingOptions } from './paging.ts';

export const specView: View<Spec> = {
  noun: 'spec',
  id: (spec) => spec.id,
  fields: [
    { name: 'id', get: (spec) => spec.id, weight: 3 },
    { name: 'default', get: (spec) => spec.default, weight: 0 },
    { name: 'command', get: (spec) => spec.command, as: 'json', json: { list: true } },
    { name: 'working_dir', get: (spec) => spec.working_dir, weight: 2 },
    { name: 'created_at', get: (spec) => spec.created_at, as: 'time', weight: 0 },
  ],
  table: ['id', 'default', 'working_dir', 'created_at'],
  tsv: ['id', 'default', 'command', 'working_dir', 'created_at'],
};

export function declareSpecs(root: Command, ctx: Context): void {
  const command = root.command('specs').alias('spec').description('list the specs that sandboxes are created from');
  declareList(command, ctx);
  declareShow(command, ctx);
}

function declareList(parent: Command, ctx: Context): void {
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

async function listSpecs(options: PagingOptions, ctx: Context): Promise<void> {
  await printList(ctx, {
    view: specView,
    paging: options,
    fetch: (server, page, pageSize) => server.specs.list(page, pageSize),
  });
}

function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show a spec');
  command.argument('<id>', 'a spec (acs specs list)');
  explain(command, {
    notes: ['The environment of a spec is not shown, because it may hold secrets.'],
    json: ({ objectForm }) => [objectForm(specView)],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs specs show process', does: 'show the spec of the local service that has no isolation' },
      { command: 'acs specs show process --json', does: 'print it as JSON' },
    ],
  });
  command.action((id: string) => showSpec(id, ctx));
}

async function showSpec(id: string, ctx: Context): Promise<void> {
  ctx.out.check(specView, 'item');
  await ctx.out.item(specView, await (await ctx.server()).specs.get(id));
}
