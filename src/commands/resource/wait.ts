/**
 * The verb `wait` of conversations and sandboxes: every id is found and waited for at the same time, until one
 * deadline. Each gets a result or the error that ended its wait, and the command exits with the worst code. A noun
 * supplies how one record is judged, and what is printed.
 */
import type { Context } from '../../context.ts';
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import type { View } from '../../output/view.ts';
import { withinDeadline, type TimedContext } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import { readIds } from '../bulk.ts';
import { limitsOf, type WaitOptions } from '../wait-limit.ts';
import { checkWord, findOne, finderOf, type Finder } from './find.ts';
import { idOf, type Resource, type StatusRecord } from './resource.ts';

/** How the wait for one record has ended. */
export interface Waited<T> {
  /** Of the record; the word of the command line where no record was found. */
  id: string;
  /** What is printed; null for a record that could not be found, read or waited for. */
  result: T | null;
  /** What ended the wait before the record was as it is wanted. */
  failure: AppError | null;
}

export interface WaitVerb<R extends StatusRecord, T> {
  resource: Resource<R>;
  view: View<T>;
  /** Of the result for several ids. */
  many: 'list' | 'bulk';
  /** `otherEnded` aborts when another record of an --any has ended; an error is the failure of this record alone. */
  waitFor(ctx: TimedContext, server: Server, found: R, otherEnded: AbortSignal): Promise<Waited<T>>;
  /** The deadline has passed before the record was found. */
  unfound(word: string, waitMs: number): Waited<T>;
  /** The result for a record that does not exist; undefined: not-found. */
  ifMissing?(word: string): T | undefined;
  printAll(ctx: Context, waited: readonly Waited<T>[]): Promise<void>;
  exitCodeOf(result: T): number;
  /** Sets the exit code of a result without failure, and prints the next step. */
  endAs(ctx: Context, result: T): Promise<void>;
}

/** Waits for the records that the words name, prints one result or all, and ends with the worst code. */
export async function waitForRecords<R extends StatusRecord, T>(
  ctx: Context,
  verb: WaitVerb<R, T>,
  given: readonly string[],
  options: WaitOptions & { any?: boolean },
): Promise<void> {
  const isSingle = given.length === 1 && given[0] !== '-';
  ctx.out.check(verb.view, isSingle ? 'item' : verb.many);
  const limits = limitsOf(ctx, options);
  for (const word of given) if (word !== '-') checkWord(verb.resource, word);
  const words = await readIds(ctx, given);
  for (const word of words) checkWord(verb.resource, word);
  if (words.length === 0) return await verb.printAll(ctx, []);
  const waited = await withinDeadline(ctx, limits, (timed) => waitForWords(timed, verb, words, options.any === true));
  const [one] = waited;
  if (!isSingle) await verb.printAll(ctx, waited);
  else if (one !== undefined && one.result !== null) await ctx.out.item(verb.view, one.result);
  await endAsWorst(ctx, verb, waited);
}

async function waitForWords<R extends StatusRecord, T>(
  ctx: TimedContext,
  verb: WaitVerb<R, T>,
  words: readonly string[],
  any: boolean,
): Promise<Waited<T>[]> {
  const server = await ctx.server().catch((error: unknown) => {
    if (ctx.deadline.isOver(error)) return null;
    throw error;
  });
  if (server === null) return words.map((word) => verb.unfound(word, ctx.deadline.waitMs));
  const finder = finderOf(ctx, server, verb.resource);
  const otherEnded = new AbortController();
  const waits = words.map((word) => waitForWord(ctx, verb, { server, finder, word, otherEnded: otherEnded.signal }));
  return await (any ? firstOf(ctx, waits) : Promise.all(waits)).finally(async () => {
    otherEnded.abort(new AppError('interrupted', `another ${verb.resource.noun} ended first`, { exitCode: 0 }));
    await Promise.allSettled(waits);
  });
}

interface Wait<R> {
  server: Server;
  finder: Finder<R>;
  word: string;
  otherEnded: AbortSignal;
}

async function waitForWord<R extends StatusRecord, T>(
  ctx: TimedContext,
  verb: WaitVerb<R, T>,
  { server, finder, word, otherEnded }: Wait<R>,
): Promise<Waited<T>> {
  let found: R | null = null;
  try {
    found = await findBeforeEnd(ctx, verb, { server, finder, word });
    if (found === null) return verb.unfound(word, ctx.deadline.waitMs);
    return await verb.waitFor(ctx, server, found, otherEnded);
  } catch (error) {
    if (!isAppError(error)) throw error;
    const missing = found === null && isNotFound(error) ? verb.ifMissing?.(word) : undefined;
    if (missing !== undefined) return { id: word, result: missing, failure: null };
    return { id: found === null ? word : idOf(verb.resource, found), result: null, failure: error };
  }
}

/** After the deadline the record is searched for once more. Null: the server did not answer in time. */
async function findBeforeEnd<R extends StatusRecord, T>(
  { deadline }: TimedContext,
  { resource }: WaitVerb<R, T>,
  { server, finder, word }: Omit<Wait<R>, 'otherEnded'>,
): Promise<R | null> {
  try {
    return await finder.find(word);
  } catch (error) {
    if (!deadline.isOver(error)) throw error;
    return await deadline.lastLook(server, (awake, base) => findOne(base, awake, resource, word));
  }
}

/** The first that has a result, with a warning for each that failed before. Without one that has: all of them. */
async function firstOf<T>(ctx: Context, waits: readonly Promise<Waited<T>>[]): Promise<Waited<T>[]> {
  const failed: Waited<T>[] = [];
  const ended = waits.map(async (wait) => {
    const waited = await wait;
    if (waited.result !== null) return waited;
    failed.push(waited);
    throw new Error('no result');
  });
  const first = await Promise.any(ended).catch(() => null);
  if (first === null) return await Promise.all(waits);
  await warnOfFailures(ctx, failed);
  return [first];
}

/** Ends the command with the worst code of all; errors that are not the one it ends with are warnings. */
async function endAsWorst<R extends StatusRecord, T>(
  ctx: Context,
  verb: WaitVerb<R, T>,
  waited: readonly Waited<T>[],
): Promise<void> {
  const rank = ({ result, failure }: Waited<T>): number =>
    rankOf(failure?.exitCode ?? (result === null ? 0 : verb.exitCodeOf(result)), failure);
  const [worst] = waited.toSorted((one, other) => rank(other) - rank(one));
  if (worst === undefined) return;
  await warnOfFailures(
    ctx,
    waited.filter((other) => other !== worst),
  );
  const { result, failure } = worst;
  if (failure === null) return result === null ? undefined : await verb.endAs(ctx, result);
  // An error drops an --output that is not complete.
  await ctx.out.close();
  throw failure;
}

async function warnOfFailures<T>(ctx: Context, waited: readonly Waited<T>[]): Promise<void> {
  for (const { id, result, failure } of waited) {
    if (result === null && failure !== null) await ctx.warn(`${id}: ${failure.message}`);
  }
}

/** For the help: the order of `rankOf`. */
export const WORST_CODE_ORDER = 'a signal, 124, the code of an id that cannot be read, 1, 5, 6, 8';

/** From the best to the worst. A code that is not in the list is worse, except that of a deadline and of a signal. */
const RANKED_CODES = [0, 8, 6, 5, 1];
const DEADLINE_CODE = 124;

/** The worst of these codes of runs; 0 for none. */
export function worstCode(codes: readonly number[]): number {
  return codes.toSorted((one, other) => rankOf(other, null) - rankOf(one, null))[0] ?? 0;
}

function rankOf(code: number, failure: AppError | null): number {
  if (failure?.kind === 'interrupted') return RANKED_CODES.length + 2;
  if (code === DEADLINE_CODE) return RANKED_CODES.length + 1;
  const rank = RANKED_CODES.indexOf(code);
  return rank === -1 ? RANKED_CODES.length : rank;
}
