import type { Context } from '../context.ts';
import { mapConcurrently } from '../../base/concurrent.ts';
import { AppError, DryRunStop, EXIT_CODES, isAppError, isDryRunStop } from '../../base/errors.ts';
import { shortenIds } from '../../output/render.ts';
import type { BulkItem, LinePart, View } from '../../output/view.ts';

/** The words of `Change` for a run that has ended by itself. */
const RUN_ENDS: ReadonlySet<string> = new Set(['finished', 'failed', 'stuck']);
/** Few, because servers limit requests. */
export const CONCURRENCY = 4;

/** `before`, `after`: the status, the title, or `present`; null where there was or is none. */
export interface Change<T> {
  changed: boolean;
  before: string | null;
  after: string | null;
  record: T;
  /** The server has accepted the change, and it was not waited for. */
  pending?: boolean;
}

/** Throws `usage` where prompts are off, and when the answer is no. */
export async function confirmChange(
  ctx: Context,
  { message, preview }: { message: string; preview: readonly string[] },
): Promise<void> {
  const { interactive, prompt } = ctx.terminal;
  const isConfirmed = ctx.globals.yes === 'given' || ctx.globals.mode === 'dry-run';
  const of = interactive && !isConfirmed ? 'question' : undefined;
  for (const line of preview) await ctx.notice(line, of);
  if (isConfirmed) return;
  if (!interactive)
    throw new AppError('usage', `confirmation required: ${message}`, {
      hint: 'add -y to confirm it in advance',
    });
  if (!(await (await prompt()).confirm({ message, default: 'no' })))
    throw new AppError('usage', 'nothing was changed, because the answer was no');
}

/** Asks before the first change, if there is one. @param preview a line for each of several */
export async function confirmAll<T>(
  ctx: Context,
  verb: string,
  targets: readonly T[],
  { one, several, preview }: { one(target: T): string; several: string; preview: string[] },
): Promise<void> {
  const [first, ...others] = targets;
  if (first === undefined) return;
  const what = others.length === 0 ? one(first) : `${targets.length} ${several}`;
  await confirmChange(ctx, { message: `${verb} ${what}?`, preview });
}

export async function changeOne<T>(
  ctx: Context,
  view: View<T>,
  pastTense: string,
  apply: () => Promise<Change<T>>,
): Promise<void> {
  const change = await apply();
  const { record, changed } = change;
  if (ctx.globals.mode === 'dry-run') throw new DryRunStop();
  const [id = ''] = shownIds(view, [view.id(record)]);
  await ctx.out.change(view, record, changed, changeLine(pastTense, id, change));
}

/** What a terminal shows of a change: `stopped 4be1f0c2`, `4be1f0c2 was already stopped`. */
export function changeLine(
  pastTense: string,
  id: string,
  { changed, after, pending = false }: Pick<Change<unknown>, 'changed' | 'after' | 'pending'>,
): string {
  if (pending) return `${id} will be ${pastTense}`;
  if (changed) return `${pastTense} ${id}`;
  if (after === null) return `${id} does not exist`;
  return RUN_ENDS.has(after) ? `${id} had already ended (${after})` : `${id} was already ${after}`;
}

export function shortId(id: string): string {
  return shortenIds([id])[0] ?? id;
}

/** Ids as tables show them; names are not cut. */
function shownIds<T>(view: View<T>, ids: readonly string[]): readonly string[] {
  const hasIds = view.fields.some(({ name, as }) => name === 'id' && as === 'id');
  return hasIds ? shortenIds(ids) : ids;
}

/** Prints all results at any exit code: 1 when something failed. */
export async function changeEach<S extends { id: string }, T>(
  ctx: Context,
  view: View<T>,
  plan: {
    /** The record of the first target is printed, or its failure thrown. */
    single: boolean;
    targets: readonly S[];
    unresolved?: readonly BulkItem[];
    /** For a dry run, in which `apply` returns nothing. */
    before?(target: S): string | null;
    pastTense: string;
    concurrency?: number | undefined;
    apply(target: S): Promise<Change<T>>;
  },
): Promise<void> {
  const { single, targets, unresolved = [], pastTense, concurrency = CONCURRENCY, apply } = plan;
  const [first] = targets;
  if (single && first !== undefined)
    return await changeOne(ctx, view, pastTense, () => apply(first));
  const isDryRun = ctx.globals.mode === 'dry-run';
  const progress =
    targets.length === 0 || isDryRun
      ? null
      : await ctx.terminal.progress(`${targets.length} to be ${pastTense}`);
  const accepted = new Set<string>();
  const change = async (target: S): Promise<BulkItem> => {
    const item = unchangedItem(target.id);
    try {
      ctx.signal.throwIfAborted();
      const { changed, before, after, pending } = await apply(target);
      if (pending) accepted.add(target.id);
      return { ...item, changed, before, after };
    } catch (error) {
      if (!isDryRunStop(error)) return failedItem(target.id, error);
      return { ...item, changed: true, before: plan.before?.(target) ?? null };
    }
  };
  let ended = 0;
  const work = async (target: S): Promise<BulkItem> => {
    const item = await change(target);
    const unchanged = item.ok ? 'unchanged' : `not ${pastTense}`;
    const result = item.changed ? pastTense : unchanged;
    progress?.update(`${++ended} of ${targets.length}: ${item.id} ${result}`);
    return item;
  };
  const changes = mapConcurrently(targets, concurrency, work);
  const items = [...(await changes.finally(() => progress?.done())), ...unresolved];
  const matched = items.length;
  const failures = items.flatMap(({ id, error }) =>
    error === null ? [] : `${id}: ${error.message}`,
  );
  const failed = failures.length;
  const isPlain = ctx.out.isPlain && !isDryRun && matched > 0;
  const ids = targets.map(({ id }) => id);
  if (isPlain) await ctx.out.text(bulkLines(pastTense, shownIds(view, ids), items, accepted));
  else await ctx.out.bulk({ items, matched, failed, ...(isDryRun && { dry_run: true }) });
  const summary = `${failed} of ${matched} could not be ${pastTense}`;
  await endChanges(ctx, failures, isPlain ? null : summary);
}

/** What a terminal shows of several changes. @param accepted the ids of those still pending */
function bulkLines(
  pastTense: string,
  /** Of the first items; the others are shown by their id. */
  names: readonly string[],
  items: readonly BulkItem[],
  accepted: ReadonlySet<string>,
): LinePart[][] {
  const rows = items.map(({ id, error, ...item }, index): LinePart[] => {
    const name = names[index] ?? id;
    const done = { ...item, pending: accepted.has(id) };
    return error === null
      ? [{ text: changeLine(pastTense, name, done) }]
      : [{ text: `${name} was not ${pastTense}: ${error.message}`, tone: 'bad' }];
  });
  const changed = items.filter((item) => item.changed).length;
  return [...rows, [{ text: `${changed} of ${items.length} ${pastTense}` }]];
}

/**
 * Ends a command that changes several: says that a dry run has changed nothing, and prints what
 * failed. @param summary null where it is printed already
 */
export async function endChanges(
  ctx: Context,
  failures: readonly string[],
  summary: string | null,
): Promise<void> {
  if (ctx.globals.mode === 'dry-run') await ctx.notice('dry run: nothing was changed');
  if (failures.length === 0) return;
  for (const failure of failures) await ctx.terminal.quietError(failure);
  if (summary !== null) await ctx.warn(summary);
  ctx.exitCode = ctx.signal.aborted ? (ctx.signal.reason as AppError).exitCode : EXIT_CODES.failed;
}

export function unchangedItem(id: string): BulkItem {
  return { id, ok: true, changed: false, before: null, after: null, error: null };
}

export function failedItem(id: string, error: unknown): BulkItem {
  if (!isAppError(error)) throw error;
  const { kind: code, message } = error;
  return { ...unchangedItem(id), ok: false, error: { code, message } };
}

/** The dry run of a command that sends no request. @param what for people */
export async function printWouldDo(ctx: Context, what: string): Promise<void> {
  await ctx.out.record({ dry_run: true, requests: [] }, what);
}
