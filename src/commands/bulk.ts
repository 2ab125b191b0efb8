/**
 * Changing several things in one command: ids from arguments and stdin, the question before, each item on its own, and
 * one result for all. What is changed, and how, is the noun's.
 */
import type { Context, DryRunRequest } from '../context.ts';
import { AppError, isAppError, type ErrorKind } from '../errors.ts';
import type { View } from '../output/view.ts';
import type { Server } from '../servers/server.ts';
import { hasSeveralProfiles } from './paging.ts';
import type { BulkItem, BulkResult } from '../output/bulk.ts';

const CONCURRENCY = 4;

/** One thing to change; `profile` when several were given. */
export interface Subject {
  id: string;
  profile?: string;
}

/**
 * The result for one thing. `before` and `after` are what the verb changes: its status, for `conv rename` its title, for a
 * secret or profile `present`; null where there was or is none.
 */
export interface Change<T> {
  changed: boolean;
  before: string | null;
  after: string | null;
  record: T;
}

/** Ids of a command line, each once: `-` stands for ids on stdin, separated by white space. */
export async function readIds(ctx: Context, given: readonly string[]): Promise<string[]> {
  if (given.filter((id) => id === '-').length > 1) {
    throw new AppError('usage', '"-" is given twice, but stdin can be read only once');
  }
  const ids: string[] = [];
  for (const id of given) {
    if (id !== '-') ids.push(id);
    else ids.push(...new TextDecoder().decode(await ctx.io.stdin.readAll()).split(/\s+/));
  }
  return [...new Set(ids.filter((id) => id !== ''))];
}

/**
 * Prints on stderr what would change, then prompts. Throws `usage` where prompts are off, and when the answer is no.
 * A dry run changes nothing and needs no confirmation.
 */
export async function confirmChange(
  ctx: Context,
  question: { message: string; preview: readonly string[] },
): Promise<void> {
  for (const line of question.preview) await ctx.notice(line);
  if (ctx.globals.yes === 'given' || ctx.globals.mode === 'dry-run') return;
  if (!ctx.interactive) {
    throw new AppError('usage', `a confirmation is required, and prompts are off: ${question.message}`, {
      hint: 'add -y to confirm it in advance',
    });
  }
  const prompt = await ctx.prompt();
  if (!(await prompt.confirm({ message: question.message, default: 'no' }))) {
    throw new AppError('usage', 'nothing was changed, because the answer was no');
  }
}

export interface BulkPlan<S extends Subject, T> {
  targets: readonly S[];
  /** Ids nothing was found for, servers that could not be reached. */
  unresolved: readonly BulkItem[];
  /** Past tense for the summary: `deleted`. */
  pastTense: string;
  /** How many at a time: few, because servers limit requests. */
  concurrency?: number;
  apply(target: S): Promise<Change<T>>;
}

/** Changes one thing named by its id: prints the object with `changed`; errors are the command's own. */
export async function changeOne<T>(ctx: Context, view: View<T>, apply: () => Promise<Change<T>>): Promise<void> {
  const { record, changed } = await apply();
  if (ctx.globals.mode === 'dry-run') throw endOfDryRun();
  await ctx.out.item(view, record, { changed });
}

/**
 * Changes each target, a few at a time, and prints one result at any exit code; the exit code is 1 when something
 * failed. After a signal the items not yet tried are reported as interrupted.
 */
export async function changeEach<S extends Subject, T>(ctx: Context, plan: BulkPlan<S, T>): Promise<void> {
  const kept: DryRunRequest[] = [];
  const changed = await changeAll(ctx, plan, kept);
  if (ctx.globals.mode === 'dry-run') {
    for (const item of [...changed, ...plan.unresolved]) if (item.error) await ctx.warn(failureLine(item));
    throw endOfDryRun(kept);
  }
  const items = [...changed, ...plan.unresolved];
  const failed = items.filter((item) => !item.ok);
  const unasked = items.filter(({ id }) => id === null);
  const matched = items.length - unasked.length;
  const result: BulkResult = { items, matched, failed: failed.length };
  await ctx.out.bulk(result);
  if (failed.length > 0) {
    for (const item of unasked) await ctx.warn(failureLine(item));
    const left = failed.length - unasked.length;
    if (left > 0) await ctx.warn(`${left} of ${matched} could not be ${plan.pastTense}`);
    ctx.exitCode = ctx.signal.aborted ? exitCodeOf(ctx.signal.reason) : 1;
  }
}

async function changeAll<S extends Subject, T>(
  ctx: Context,
  plan: BulkPlan<S, T>,
  kept: DryRunRequest[],
): Promise<BulkItem[]> {
  const { targets, pastTense, concurrency = CONCURRENCY } = plan;
  const change = (target: S) => changeItem(ctx, plan, target, kept);
  if (targets.length === 0 || ctx.globals.mode === 'dry-run') return await inParallel(targets, concurrency, change);
  const progress = await ctx.progress(`${targets.length} to be ${pastTense}`);
  let ended = 0;
  try {
    return await inParallel(targets, concurrency, async (target) => {
      const item = await change(target);
      ended += 1;
      progress.update(`${ended} of ${targets.length}: ${item.id} ${resultWord(pastTense, item)}`);
      return item;
    });
  } finally {
    await progress.done();
  }
}

function resultWord(pastTense: string, { ok, changed }: BulkItem): string {
  if (!ok) return `not ${pastTense}`;
  return changed ? pastTense : 'unchanged';
}

export function failedItem(id: string | null, error: unknown, profile?: string): BulkItem {
  if (!isAppError(error)) throw error;
  return {
    id,
    ...(profile === undefined ? {} : { profile }),
    ok: false,
    changed: false,
    before: null,
    after: null,
    error: { code: error.kind satisfies ErrorKind, message: error.message },
  };
}

const DRY_RUN_TAG = 'acs.DryRunStop';

/** The error that ends a command in a dry run: cli.ts recognises the tag and prints the requests that were not sent. */
export function endOfDryRun(requests: readonly DryRunRequest[] = []): Error {
  return Object.assign(new Error('a dry run ends here'), { tag: DRY_RUN_TAG, requests });
}

async function changeItem<S extends Subject, T>(
  ctx: Context,
  plan: BulkPlan<S, T>,
  target: S,
  kept: DryRunRequest[],
): Promise<BulkItem> {
  const profile = target.profile === undefined ? {} : { profile: target.profile };
  try {
    ctx.signal.throwIfAborted();
    const { changed, before, after } = await plan.apply(target);
    return { id: target.id, ...profile, ok: true, changed, before, after, error: null };
  } catch (error) {
    const requests = requestsKeptBack(error);
    if (requests) {
      kept.push(...requests);
      return { id: target.id, ...profile, ok: true, changed: false, before: null, after: null, error: null };
    }
    return failedItem(target.id, error, target.profile);
  }
}

/** The requests of what a dry run stopped before its first write; null for any other error. */
export function requestsKeptBack(error: unknown): readonly DryRunRequest[] | null {
  const { tag, requests } = (error ?? {}) as { tag?: unknown; requests?: readonly DryRunRequest[] };
  return tag === DRY_RUN_TAG ? (requests ?? []) : null;
}

function failureLine({ id, profile, error }: BulkItem): string {
  return `${[profile, id].filter(Boolean).join(' ')}: ${error?.message ?? ''}`;
}

function exitCodeOf(reason: unknown): number {
  return isAppError(reason) ? reason.exitCode : 130;
}

/** Order of the results is the order of the items. */
async function inParallel<T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}

/** The servers a bulk command works on; one that cannot be reached is an item with its error. */
export async function serversOf(
  ctx: Context,
): Promise<{ reached: { profile?: string; server: Server }[]; unresolved: BulkItem[] }> {
  if (!hasSeveralProfiles(ctx)) return { reached: [{ server: await ctx.server() }], unresolved: [] };
  const unresolved: BulkItem[] = [];
  const reached: { profile: string; server: Server }[] = [];
  for (const { profile, server } of await ctx.servers()) {
    try {
      reached.push({ profile, server: await server });
    } catch (error) {
      unresolved.push(failedItem(null, error, profile));
    }
  }
  return { reached, unresolved };
}
