import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, type ErrorKind, isOfKind } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { allPages, type Page } from '../../domain/pages.ts';
import type { View } from '../../output/view.ts';
import { changeEach, confirmAll, type Change } from './bulk.ts';
import { readChosen } from './resource.ts';
import { explain } from './declare.ts';
import { addPagingOptions, printList, type PagingOptions } from './lists.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface DeleteOptions {
  ignoreNotFound?: boolean;
  allowLoss?: boolean;
}

export interface NamedItems<T> {
  view: View<T>;
  command: string;
  argument: string;
  examples: readonly [string, string];
  one(name: string): string;
  several: string;
  paging: 'pages' | 'all at once';
  fetch(server: Server, page: string | null, pageSize?: number): Promise<Page<T>>;
  listHelp: { description: string; notes?: readonly string[]; exits: readonly ErrorKind[] };
  deleteHelp: { notes: readonly string[]; exits: readonly ErrorKind[] };
  checkName?(name: string): void;
  absent(name: string): T;
  /** One item at a time, because a deletion writes the others again. */
  concurrency?: 1;
  remove(server: Server, name: string, options: DeleteOptions): Promise<void>;
}

export function declareNamedList<T>(parent: Command, ctx: Context, items: NamedItems<T>): void {
  const { command: noun, view, paging, listHelp } = items;
  const command = parent.command('list').alias('ls').description(listHelp.description);
  if (paging === 'pages') addPagingOptions(command);
  explain(command, {
    ...(listHelp.notes && { notes: listHelp.notes }),
    json: ({ listForm }) => [listForm(view)],
    exits: ['failed', ...listHelp.exits],
    examples: {
      [`${noun} list`]: `list ${items.several}`,
      [`${noun} list -q`]: 'print the names, one a line',
    },
  });
  command.action((options: PagingOptions) =>
    printList(ctx, {
      view,
      paging: paging === 'pages' ? options : { allPages: true },
      fetch: (server, page, pageSize) => items.fetch(server, page, pageSize),
    }),
  );
}

export function declareNamedDelete<T>(
  parent: Command,
  ctx: Context,
  items: NamedItems<T>,
): Command {
  const { command: noun, argument, several, view, deleteHelp } = items;
  const [first, second] = items.examples;
  const command = parent
    .command('delete')
    .aliases(['rm', 'remove'])
    .description(`delete ${several}`)
    .argument(`<${argument}...>`, 'names; - reads them from stdin')
    .option('--ignore-not-found', 'succeed when a name does not exist');
  explain(command, {
    notes: [
      `Asks for confirmation unless -y is given. ${deleteHelp.notes[0] ?? ''}`.trim(),
      ...deleteHelp.notes.slice(1),
    ],
    json: ({ changeForms }) => changeForms(view, ['one name', 'several names']),
    exits: ['failed', 'not-found', ...deleteHelp.exits],
    examples: {
      [`${noun} delete ${first}`]: 'delete one after a question',
      [`${noun} delete ${first} ${second} -y --ignore-not-found`]: 'delete two in a script',
    },
  });
  command.action((given: string[], options: DeleteOptions) =>
    deleteNamed(ctx, items, given, options),
  );
  return command;
}

async function deleteNamed<T>(
  ctx: Context,
  items: NamedItems<T>,
  given: readonly string[],
  options: DeleteOptions,
): Promise<void> {
  const { view, one, several } = items;
  const { single, words: names } = await readChosen(ctx, view, given);
  for (const name of names) items.checkName?.(name);
  const server = await ctx.servers.active();
  const stored = new Map<string, T>();
  try {
    for await (const item of allPages(view.id, (page) => items.fetch(server, page)))
      stored.set(view.id(item), item);
  } catch (error) {
    // --allow-loss deletes a token although the server does not report which it has.
    if (!options.allowLoss || !isOfKind('conflict')(error)) throw error;
    for (const name of names) stored.set(name, items.absent(name));
  }
  const present = names.filter((name) => stored.has(name));
  const preview = single ? [] : present.map(one);
  await confirmAll(ctx, 'delete', present, { one, several, preview });
  const apply = async ({ id }: { id: string }): Promise<Change<T>> => {
    const record = stored.get(id);
    if (record !== undefined) {
      await items.remove(server, id, options);
      return { changed: true, before: 'present', after: null, record };
    }
    if (options.ignoreNotFound)
      return { changed: false, before: null, after: null, record: items.absent(id) };
    throw new AppError('not-found', `the server has no ${one(cut(id, 100))}`, {
      hint: `list them with: ${items.command} list`,
    });
  };
  await changeEach(ctx, view, {
    single,
    targets: names.map((id) => ({ id })),
    before: ({ id }) => (stored.has(id) ? 'present' : null),
    pastTense: 'deleted',
    concurrency: items.concurrency,
    apply,
  });
}
