/**
 * A verb that changes conversations or sandboxes: which records, the preview and the question, the change of each
 * record as it was read right before, and the result. A verb supplies `apply`.
 */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import { changeEach, changeOne, confirmChange, endOfDryRun, readIds, type Change } from '../bulk.ts';
import { hasSeveralProfiles } from '../paging.ts';
import { addSelectorOptions, readSelection, type SelectorOptions } from '../selectors.ts';
import { chooseByIds, chooseBySelector } from './choose.ts';
import { checkWord, findOne } from './find.ts';
import { idOf, type Preview, type Resource, type StatusRecord, type Target } from './resource.ts';

export interface ChangeOptions extends SelectorOptions {
  all?: boolean;
  force?: boolean;
  ignoreNotFound?: boolean;
}

/** What the change of one record is given of its command. */
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
  /** `delete`, for questions. */
  word: string;
  /** `deleted`, for the summary. */
  pastTense: string;
  /** A change by selectors needs a confirmation; `always`: a change by ids too. */
  confirms?: 'always';
  /** Instead of the resource's own preview. */
  preview?(ctx: C, targets: readonly Target<R>[]): Promise<Preview>;
  apply(ctx: C, target: Target<R>, request: ChangeRequest<R, O>): Promise<Change<R>>;
  /** The result for a record that disappeared after it was chosen; null, or no such member: `not-found`. */
  ifGone?(target: Target<R>, request: ChangeRequest<R, O>): Change<R> | null;
}

/** The ids and selectors of a verb that changes records. */
export function addChoice(
  command: Command,
  { plural, noun }: Pick<Resource<never>, 'noun' | 'plural'>,
  statuses: readonly string[],
): Command {
  command.argument('[id...]', `${plural}; - reads ids from stdin`);
  return addSelectorOptions(command, statuses).option('--all', `select every ${noun}`);
}

/** Runs a verb over ids or selectors; prints the object for one id, a bulk result for anything else. */
export async function changeRecords<C extends Context, R extends StatusRecord, O extends ChangeOptions>(
  ctx: C,
  verb: Verb<C, R, O>,
  given: readonly string[],
  options: O,
): Promise<void> {
  const { resource } = verb;
  const bySelector = readSelection(options) !== null || options.all === true;
  refuseUnclearChoice(verb, given, bySelector);
  const single = given.length === 1 && given[0] !== '-' && !hasSeveralProfiles(ctx);
  ctx.out.check(resource.view, single ? 'item' : 'bulk');
  for (const word of given) if (word !== '-') checkWord(resource, word);
  if (single) return await changeNamed(ctx, verb, given[0] ?? '', options);
  const words = await readIds(ctx, given);
  for (const word of words) checkWord(resource, word);
  const { targets, unresolved } = bySelector
    ? await chooseBySelector(ctx, resource, options)
    : await chooseByIds(ctx, resource, words, options);
  if (targets.length > 0 && (bySelector || verb.confirms === 'always')) await ask(ctx, verb, targets);
  const request = { options, targets, unchanged: new Set<Target<R>>(), result: 'bulk' as const };
  await changeEach(ctx, {
    targets,
    unresolved,
    pastTense: verb.pastTense,
    apply: (target) => applyToFresh(ctx, verb, target, request),
  });
}

function refuseUnclearChoice(
  { resource: { command }, word }: { resource: { command: string }; word: string },
  given: readonly string[],
  bySelector: boolean,
): void {
  if (given.length > 0 && bySelector) throw new AppError('usage', 'give either ids or selectors, not both');
  if (given.length === 0 && !bySelector) {
    throw new AppError('usage', `${command} ${word} needs an id or a selector`, {
      hint: `acs ${command} ${word} <id>, --status <word>, --older-than <duration>, … or --all`,
    });
  }
}

async function changeNamed<C extends Context, R extends StatusRecord, O extends ChangeOptions>(
  ctx: C,
  verb: Verb<C, R, O>,
  word: string,
  options: O,
): Promise<void> {
  const { resource } = verb;
  const server = await ctx.server();
  const seen = await findOne(ctx, server, resource, word).catch((error: unknown) => {
    if (options.ignoreNotFound && isNotFound(error)) return null;
    throw error;
  });
  if (seen === null && ctx.globals.mode === 'dry-run') throw endOfDryRun();
  if (seen === null) return await ctx.out.item(resource.view, resource.gone(word), { changed: false });
  const target: Target<R> = { id: idOf(resource, seen), server, seen, chosenBy: 'id' };
  if (verb.confirms === 'always') await ask(ctx, verb, [target]);
  const request = { options, targets: [target], unchanged: new Set<Target<R>>(), result: 'object' as const };
  await changeOne(ctx, resource.view, () => applyToFresh(ctx, verb, target, request));
}

async function ask<C extends Context, R extends StatusRecord, O extends ChangeOptions>(
  ctx: C,
  verb: Verb<C, R, O>,
  targets: readonly Target<R>[],
): Promise<void> {
  const { resource, word } = verb;
  const what =
    targets.length === 1 ? `${resource.noun} ${targets[0]?.id ?? ''}` : `${targets.length} ${resource.plural}`;
  const { preview, suffix } = (await verb.preview?.(ctx, targets)) ?? resource.preview(targets);
  await confirmChange(ctx, { message: `${word} ${what}${suffix}?`, preview });
}

/** Reads the record again right before the change: what a selector chose must still satisfy it. */
async function applyToFresh<C extends Context, R extends StatusRecord, O extends ChangeOptions>(
  ctx: C,
  verb: Verb<C, R, O>,
  target: Target<R>,
  request: ChangeRequest<R, O>,
): Promise<Change<R>> {
  const { resource } = verb;
  const { server, id, seen, selector } = target;
  try {
    const now = await resource.get(server, id, seen);
    if (selector !== undefined && !(await selector.stillMatches(now))) {
      throw new AppError('conflict', `${resource.noun} ${id} is ${now.status} now and no longer matches the selectors`);
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
