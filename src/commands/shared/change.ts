import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, DryRunStop, isAppError, isNotFound } from '../../base/errors.ts';
import { collectPages } from '../../domain/pages.ts';
import type { BulkItem } from '../../output/view.ts';
import { changeEach, changeOne, confirmChange, failedItem, type Change } from './bulk.ts';
import { addSelectorOptions, hasSelector, readSelection, type SelectorOptions } from './lists.ts';
import {
  finderOf,
  idOf,
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
  /** `object` for a single id: the record is printed, and the state of a wait is shown. */
  result: 'object' | 'bulk';
}

export interface Verb<C extends Context, R extends StatusRecord, O extends ChangeOptions> {
  resource: Resource<R>;
  word: string;
  pastTense: string;
  /** A change by selectors needs a confirmation; `always`: a change by ids too. */
  confirms?: 'always';
  preview?(ctx: C, targets: readonly Target<R>[]): Promise<Preview>;
  apply(ctx: C, target: Target<R>, request: ChangeRequest<R, O>): Promise<Change<R>>;
  /**
   * The result for a record that disappeared after it was chosen; null, or no such member:
   * `not-found`.
   */
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
  const bySelector = options.all === true || hasSelector(options);
  if (given.length > 0 && bySelector)
    throw new AppError('usage', 'give either ids or selectors, not both');
  if (given.length === 0 && !bySelector) {
    throw new AppError('usage', `${command} ${verbWord} needs an id or a selector`, {
      hint: `acs ${command} ${verbWord} <id>, --status <word>, --older-than <duration>, … or --all`,
    });
  }
  const isSingle = given.length === 1 && given[0] !== '-';
  ctx.out.check(view, isSingle ? 'item' : 'bulk');
  const words = await readWords(ctx, resource, given);
  const server = await ctx.servers.active();
  const targets: Target<R>[] = [];
  const unresolved: BulkItem[] = [];
  if (bySelector) {
    const matches = hasSelector(options)
      ? await resource.selector(ctx, server, await readSelection(ctx, options))
      : undefined;
    const { items } = await collectPages({
      fetch: (page, pageSize) => resource.list(server, page, pageSize),
      id: (record) => view.id(record),
      ...(matches && { filter: matches }),
    });
    for (const seen of items) {
      targets.push({
        id: idOf(resource, seen),
        server,
        seen,
        chosenBy: 'selector',
        ...(matches && { matches }),
      });
    }
  }
  const finder = finderOf(ctx, server, resource);
  for (const word of words) {
    try {
      const seen = await finder.find(word);
      const id = idOf(resource, seen);
      if (!targets.some((target) => target.id === id))
        targets.push({ id, server, seen, chosenBy: 'id' });
    } catch (error) {
      const isIgnored = options.ignoreNotFound === true && isNotFound(error);
      if (isSingle && !isIgnored) throw error;
      if (isSingle && ctx.globals.mode === 'dry-run') throw new DryRunStop();
      if (isSingle) return await ctx.out.item(view, resource.gone(word), { changed: false });
      const untouched = {
        id: word,
        ok: true,
        changed: false,
        before: null,
        after: null,
        error: null,
      };
      unresolved.push(isIgnored ? untouched : failedItem(word, error));
    }
  }

  const [first] = targets;
  if (first !== undefined && (bySelector || verb.confirms === 'always')) {
    const what = targets.length === 1 ? `${noun} ${first.id}` : `${targets.length} ${plural}`;
    const { preview, suffix } = (await verb.preview?.(ctx, targets)) ?? resource.preview(targets);
    await confirmChange(ctx, { message: `${verbWord} ${what}${suffix}?`, preview });
  }
  const request: ChangeRequest<R, O> = {
    options,
    targets,
    unchanged: new Set(),
    result: isSingle ? 'object' : 'bulk',
  };
  const apply = (target: Target<R>) => applyToFresh(ctx, verb, target, request);
  if (isSingle && first !== undefined) return await changeOne(ctx, view, () => apply(first));
  await changeEach(ctx, {
    targets,
    unresolved,
    before: ({ seen }) => seen.status,
    pastTense,
    apply,
  });
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
    if (matches?.(now) === false) {
      throw new AppError(
        'conflict',
        `${noun} ${id} is ${now.status} now and no longer matches the selectors`,
      );
    }
    return await verb.apply(ctx, { ...target, seen: now }, request);
  } catch (error) {
    const change = isNotFound(error) ? verb.ifGone?.(target, request) : undefined;
    if (change != null) return change;
    // A dry run ends with another kind of error.
    if (isAppError(error)) request.unchanged.add(target);
    throw error;
  }
}
