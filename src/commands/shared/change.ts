import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isAppError, isNotFound } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import { collectPages } from '../../domain/pages.ts';
import type { BulkItem } from '../../output/view.ts';
import {
  changeEach,
  changeOne,
  confirmAll,
  failedItem,
  unchangedItem,
  type Change,
} from './bulk.ts';
import { addSelectorOptions, hasSelector, readSelection, type SelectorOptions } from './lists.ts';
import {
  finderOf,
  firstId,
  isSingle,
  readWords,
  type Preview,
  type Resource,
  type StatusRecord,
  type Target,
} from './resource.ts';

export interface ChangeOptions extends SelectorOptions {
  all?: boolean;
  force?: boolean;
  ignoreNotFound?: boolean;
}

export interface ChangeRequest<R, O> {
  options: O;
  /** All records that the command changes, this one included. */
  targets: readonly Target<R>[];
  /** Those of them that the command has refused or failed to change so far. */
  unchanged: Set<Target<R>>;
  /** `item` for a single id: the record is printed, and the state of a wait is shown. */
  result: 'item' | 'bulk';
}

export interface Verb<C extends Context, R extends StatusRecord, O extends ChangeOptions> {
  resource: Resource<R>;
  word: string;
  pastTense: string;
  /** A change by selectors needs a confirmation; `always`: a change by ids too. */
  confirms?: 'always';
  preview?(ctx: C, targets: readonly Target<R>[]): Promise<Preview>;
  apply(ctx: C, target: Target<R>, request: ChangeRequest<R, O>): Promise<Change<R>>;
  /** The result for a record that disappeared after it was chosen; null: `not-found`. */
  ifGone?(target: Target<R>, request: ChangeRequest<R, O>): Change<R> | null;
}

export function addChoice(
  command: Command,
  { plural, noun }: Pick<Resource<never>, 'noun' | 'plural'>,
  statuses: readonly string[],
): Command {
  command.argument('[id...]', `${plural}; - reads ids from stdin`);
  return addSelectorOptions(command, statuses).option('--all', `select every ${noun}`);
}

export async function changeRecords<
  C extends Context,
  R extends StatusRecord,
  O extends ChangeOptions,
>(ctx: C, verb: Verb<C, R, O>, given: readonly string[], options: O): Promise<void> {
  const { resource, word: verbWord, pastTense } = verb;
  const { command, noun, plural, view } = resource;
  const bySelector = hasSelector(options);
  if (bySelector === given.length > 0) {
    if (bySelector) throw new AppError('usage', 'give either ids or selectors, not both');
    throw new AppError('usage', `${command} ${verbWord} needs an id or a selector`, {
      hint:
        `acs ${command} ${verbWord} <id>, --status <word>, --older-than <duration>, ` +
        '… or --all',
    });
  }
  const single = isSingle(given);
  const result = single ? 'item' : 'bulk';
  ctx.out.check(view, result);
  const words = await readWords(ctx, resource, given);
  const server = await ctx.servers.active();
  const unresolved: BulkItem[] = [];
  const onFailure = (word: string, error: unknown): void => {
    const isIgnored = options.ignoreNotFound === true && isNotFound(error);
    if (single && !isIgnored) throw error;
    unresolved.push(isIgnored ? unchangedItem(word) : failedItem(word, error));
  };
  const targets = bySelector
    ? await selectTargets(ctx, server, resource, options)
    : await findTargets(ctx, server, resource, words, onFailure);
  if (bySelector || verb.confirms === 'always') {
    const { preview, suffix } = (await verb.preview?.(ctx, targets)) ?? resource.preview(targets);
    await confirmAll(ctx, verbWord, targets, {
      one: ({ id }) => `${noun} ${id}${suffix}`,
      several: `${plural}${suffix}`,
      preview,
    });
  }
  const request: ChangeRequest<R, O> = { options, targets, unchanged: new Set(), result };
  if (single && targets.length === 0) {
    const [only = ''] = words;
    const change = { changed: false, before: null, after: null, record: resource.gone(only) };
    return await changeOne(ctx, view, pastTense, () => Promise.resolve(change));
  }
  await changeEach(ctx, view, {
    single,
    targets,
    unresolved,
    before: ({ seen }) => seen.status,
    pastTense,
    apply: (target) => applyToFresh(ctx, verb, target, request),
  });
}

async function selectTargets<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
  options: ChangeOptions,
): Promise<Target<R>[]> {
  const matches = await resource.selector(ctx, server, await readSelection(ctx, options));
  const { items } = await collectPages({
    fetch: (page, pageSize) => resource.list(server, page, pageSize),
    id: (record) => resource.view.id(record),
    filter: matches,
  });
  return items.map((seen) => ({ id: firstId(resource, seen), server, seen, matches }));
}

async function findTargets<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
  words: readonly string[],
  onFailure: (word: string, error: unknown) => void,
): Promise<Target<R>[]> {
  const find = finderOf(ctx, server, resource);
  const targets = new Map<string, Target<R>>();
  for (const word of words) {
    try {
      const seen = await find(word);
      const id = firstId(resource, seen);
      targets.set(id, { id, server, seen });
    } catch (error) {
      onFailure(word, error);
    }
  }
  return [...targets.values()];
}

/** Reads the record again right before the change: what a selector chose must still satisfy it. */
async function applyToFresh<C extends Context, R extends StatusRecord, O extends ChangeOptions>(
  ctx: C,
  verb: Verb<C, R, O>,
  target: Target<R>,
  request: ChangeRequest<R, O>,
): Promise<Change<R>> {
  const { noun, get } = verb.resource;
  const { server, id, matches } = target;
  try {
    const now = await get(server, id);
    if (matches?.(now) === false)
      throw new AppError(
        'conflict',
        `${noun} ${id} is ${now.status} now and no longer matches the selectors`,
      );
    return await verb.apply(ctx, { ...target, seen: now }, request);
  } catch (error) {
    const change = isNotFound(error) ? verb.ifGone?.(target, request) : undefined;
    if (change != null) return change;
    // A dry run ends with another kind of error.
    if (isAppError(error)) request.unchanged.add(target);
    throw error;
  }
}
