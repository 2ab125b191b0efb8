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

/** Each id once; `-` stands for ids on stdin, separated by white space. */
export async function readIds(ctx: Context, given: readonly string[]): Promise<string[]> {
  if (given.filter((id) => id === '-').length > 1) {
    throw new AppError('usage', '"-" is given twice, but stdin can be read only once');
  }
  const ids: string[] = [];
  for (const id of given) {
    if (id !== '-') ids.push(id);
    else ids.push(...new TextDecoder().decode(await ctx.terminal.io.stdin.readAll()).split(/\s+/));
  }
  return [...new Set(ids.filter((id) => id !== ''))];
}

/** Throws `usage` where prompts are off, and when the answer is no. */
export async function confirmChange(
  ctx: Context,
  { message, preview }: { message: string; preview: readonly string[] },
): Promise<void> {
  const isAsked =
    ctx.terminal.interactive && ctx.globals.yes !== 'given' && ctx.globals.mode !== 'dry-run';
  for (const line of preview) await ctx.notice(line, isAsked ? 'question' : undefined);
  if (ctx.globals.yes === 'given' || ctx.globals.mode === 'dry-run') return;
  if (!ctx.terminal.interactive) {
    throw new AppError('usage', `confirmation required: ${message}`, {
      hint: 'add -y to confirm it in advance',
    });
  }
  const prompt = await ctx.terminal.prompt();
  if (!(await prompt.confirm({ message, default: 'no' }))) {
    throw new AppError('usage', 'nothing was changed, because the answer was no');
  }
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

/**
 * Prints one result at any exit code: 1 when something failed. A signal interrupts the targets not
 * yet tried.
 */
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
  const changed: BulkItem[] = [];
  let ended = 0;
  const queue = targets.entries();
  const worker = async (): Promise<void> => {
    for (const [index, target] of queue) {
      const { id } = target;
      let item: BulkItem;
      try {
        ctx.signal.throwIfAborted();
        const { changed, before, after } = await apply(target);
        item = { id, ok: true, changed, before, after, error: null };
      } catch (error) {
        item = isDryRunStop(error)
          ? {
              id,
              ok: true,
              changed: true,
              before: before?.(target) ?? null,
              after: null,
              error: null,
            }
          : failedItem(id, error);
      }
      changed[index] = item;
      ended += 1;
      const word = item.ok ? (item.changed ? pastTense : 'unchanged') : `not ${pastTense}`;
      progress?.update(`${ended} of ${targets.length}: ${item.id} ${word}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, targets.length) }, worker));
  } finally {
    await progress?.done();
  }
  const items = [...changed, ...unresolved];
  const failed = items.filter(({ ok }) => !ok).length;
  await ctx.out.bulk({ items, matched: items.length, failed, ...(isDryRun && { dry_run: true }) });
  if (isDryRun) await ctx.notice('dry run: nothing was changed');
  if (failed === 0) return;
  for (const { id, error } of items)
    if (error !== null) await ctx.terminal.quietError(`${id}: ${error.message}`);
  await ctx.warn(`${failed} of ${items.length} could not be ${pastTense}`);
  const reason: unknown = ctx.signal.reason;
  ctx.exitCode = ctx.signal.aborted ? (isAppError(reason) ? reason.exitCode : 130) : 1;
}

export function failedItem(id: string, error: unknown): BulkItem {
  if (!isAppError(error)) throw error;
  const { kind: code, message } = error;
  return { id, ok: false, changed: false, before: null, after: null, error: { code, message } };
}

/**
 * For a command that changes something and sends no request: the list is empty, and a person reads
 * what would happen.
 */
export async function printWouldDo(ctx: Context, what: string): Promise<void> {
  await ctx.out.record({ dry_run: true, requests: [] }, what);
}
