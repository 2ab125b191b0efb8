import type { Context } from '../context.ts';
import { AppError, DryRunStop, isAppError, isDryRunStop } from '../../base/errors.ts';
import type { BulkItem, View } from '../../output/view.ts';

/** Few, because servers limit requests. */
const CONCURRENCY = 4;

/** `before`, `after`: the status, the title, or `present`; null where there was or is none. */
export interface Change<T> {
  changed: boolean;
  before: string | null;
  after: string | null;
  record: T;
}

/** Whether one thing is named: its result is then an object, and else a list. */
export function isSingle(given: readonly string[]): boolean {
  return given.length === 1 && given[0] !== '-';
}

/** Each id once; `-` stands for ids on stdin, separated by white space. */
export async function readIds(ctx: Context, given: readonly string[]): Promise<string[]> {
  if (given.filter((id) => id === '-').length > 1)
    throw new AppError('usage', '"-" is given twice, but stdin can be read only once');
  const ids = new Set<string>();
  for (const word of given) {
    if (word !== '-') ids.add(word);
    else
      for (const id of new TextDecoder().decode(await ctx.terminal.io.stdin.readAll()).split(/\s+/))
        ids.add(id);
  }
  ids.delete('');
  return [...ids];
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

export async function changeOne<T>(
  ctx: Context,
  view: View<T>,
  apply: () => Promise<Change<T>>,
): Promise<void> {
  const { record, changed } = await apply();
  if (ctx.globals.mode === 'dry-run') throw new DryRunStop();
  await ctx.out.item(view, record, { changed });
}

/** Prints all results at any exit code: 1 when something failed. */
export async function changeEach<S extends { id: string }, T>(
  ctx: Context,
  plan: {
    targets: readonly S[];
    unresolved?: readonly BulkItem[];
    /** For a dry run, in which `apply` returns nothing. */
    before?(target: S): string | null;
    pastTense: string;
    concurrency?: number;
    apply(target: S): Promise<Change<T>>;
  },
): Promise<void> {
  const { targets, unresolved = [], before, pastTense, concurrency = CONCURRENCY, apply } = plan;
  const isDryRun = ctx.globals.mode === 'dry-run';
  const progress =
    targets.length === 0 || isDryRun
      ? null
      : await ctx.terminal.progress(`${targets.length} to be ${pastTense}`);
  const change = async (target: S): Promise<BulkItem> => {
    const item = unchangedItem(target.id);
    try {
      ctx.signal.throwIfAborted();
      const { changed, before, after } = await apply(target);
      return { ...item, changed, before, after };
    } catch (error) {
      if (!isDryRunStop(error)) return failedItem(target.id, error);
      return { ...item, changed: true, before: before?.(target) ?? null };
    }
  };
  const items: BulkItem[] = [];
  let ended = 0;
  const queue = targets.entries();
  const work = async (): Promise<void> => {
    for (const [index, target] of queue) {
      const item = (items[index] = await change(target));
      const unchanged = item.ok ? 'unchanged' : `not ${pastTense}`;
      const result = item.changed ? pastTense : unchanged;
      progress?.update(`${++ended} of ${targets.length}: ${item.id} ${result}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    await progress?.done();
  }
  items.push(...unresolved);
  const failures = items.filter(({ ok }) => !ok);
  const failed = failures.length;
  await ctx.out.bulk({ items, matched: items.length, failed, ...(isDryRun && { dry_run: true }) });
  if (isDryRun) await ctx.notice('dry run: nothing was changed');
  if (failed === 0) return;
  for (const { id, error } of failures) await ctx.terminal.quietError(`${id}: ${error?.message}`);
  await ctx.warn(`${failed} of ${items.length} could not be ${pastTense}`);
  ctx.exitCode = ctx.signal.aborted ? (ctx.signal.reason as AppError).exitCode : 1;
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
