/** What the verbs of `conv` and `sandbox` have in common. */
import type { Context } from '../context.ts';
import type { Server } from '../../client/shared/server.ts';
import { type IdWord, matchPrefix, PREFIX_MIN } from '../../domain/ids.ts';
import { type Page, collectPages } from '../../domain/pages.ts';
import type { Selection } from '../../domain/selectors.ts';
import type { View } from '../../output/view.ts';
import { AppError, isFailure, isNotFound } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface StatusRecord {
  status: string;
}

export interface Resource<R extends StatusRecord> {
  noun: 'conversation' | 'sandbox';
  plural: string;
  command: 'conv' | 'sandbox';
  view: View<R>;
  /** Null when the word cannot name a record. */
  readWord(word: string): IdWord | null;
  /** The first that is not empty is printed; empty ones never match a prefix. */
  idsOf: (record: R) => readonly string[];
  ofLast(server: Server, conversationId: string): Promise<R>;
  get(server: Server, id: string): Promise<R>;
  list: (server: Server, page: string | null, pageSize: number) => Promise<Page<R>>;
  selector(ctx: Context, server: Server, selection: Selection): Promise<(record: R) => boolean>;
  /** What is printed for a record that does not exist, with --ignore-not-found. */
  gone(word: string): R;
  preview(targets: readonly Target<R>[]): Preview;
}

export interface Target<R> {
  id: string;
  server: Server;
  /** The record when it was chosen; in `apply`, the one that was read right before. */
  seen: R;
  /** Of a record that selectors chose: whether they still do. Undefined for one that was named. */
  matches?: (record: R) => boolean;
}

export interface Preview {
  preview: string[];
  /** The end of the question, such as ` with 2 conversations`. */
  suffix: string;
}

export function firstId<R extends StatusRecord>(resource: Resource<R>, record: R): string {
  return resource.idsOf(record).find((id) => id !== '') ?? '';
}

/** A longer list would cost a prefix a request for every 100 records. */
const NEWEST_MAX = 1000;
const CANDIDATES_PRINTED = 10;

/** Throws `not-found`, and `usage` for an ambiguous prefix. */
export type Finder<R> = (word: string) => Promise<R>;

/** One finder per server and command: the list that prefixes need is read once. */
export function finderOf<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
): Finder<R> {
  const { noun, plural, command, view, idsOf } = resource;
  const readNewest = once(() =>
    collectPages({
      fetch: (page, pageSize) => resource.list(server, page, pageSize),
      id: (record) => view.id(record),
      limit: NEWEST_MAX,
    }),
  );
  const byPrefix = async (prefix: string): Promise<R> => {
    const { items, has_more } = await readNewest();
    const matches = matchPrefix(prefix, items, idsOf);
    const [match] = matches;
    if (match === undefined) {
      const searched = `the newest ${NEWEST_MAX} were searched; an older one needs its full id`;
      throw new AppError('not-found', `no ${noun} begins with ${prefix}`, {
        hint: has_more
          ? `${searched}: acs ${command} list --all-pages`
          : `list them with: acs ${command} list`,
      });
    }
    if (matches.length === 1) return match;
    const candidates = matches.map((record) => firstId(resource, record));
    const printed = candidates.slice(0, CANDIDATES_PRINTED).join(', ');
    const text = `${candidates.length} ${plural} begin with ${prefix}: ${printed}`;
    const hint = 'give more characters of the id';
    throw new AppError('usage', text, { hint, data: { candidates } });
  };
  return async (word) => {
    const named = checkWord(resource, word);
    if (named === 'last') {
      const last = await ctx.servers.lastConversation.get(originOf(server));
      if (last !== null) return await resource.ofLast(server, last);
      const text =
        '@last is not set: no conversation was started on this server, or the last one was deleted';
      const hint = 'start one: acs conv new, or see: acs conv list';
      throw new AppError('not-found', text, { hint });
    }
    const { ids, prefix } = named;
    for (const id of ids) {
      try {
        return await resource.get(server, id);
      } catch (error) {
        if (!isNotFound(error) || (prefix === null && id === ids.at(-1))) throw error;
      }
    }
    return await byPrefix(prefix ?? '');
  };
}

export async function findOne<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
  word: string,
): Promise<R> {
  return await finderOf(ctx, server, resource)(word);
}

/** Checks the form of an id before any request; throws `usage`. */
export function checkWord<R extends StatusRecord>(
  { noun, readWord }: Resource<R>,
  word: string,
): IdWord {
  const named = readWord(word);
  if (named !== null) return named;
  const forms = `a full id, its first ${PREFIX_MIN} or more characters, a URL that contains it`;
  throw new AppError('usage', `"${cut(word, 200)}" is not a ${noun} id`, {
    hint: `give ${forms}, or @last`,
  });
}

/** Whether one thing is named: its result is then an object, and else a list. */
export function isSingle(given: readonly string[]): boolean {
  return given.length === 1 && given[0] !== '-';
}

/** The words of a command that changes what they name, whose output is checked before. */
export async function readChosen<T>(
  ctx: Context,
  view: View<T>,
  given: readonly string[],
): Promise<{ single: boolean; words: string[] }> {
  const single = isSingle(given);
  ctx.out.check(view, single ? 'item' : 'bulk');
  const words = await readIds(ctx, given);
  if (single && words.length === 0)
    throw new AppError('usage', 'the argument is empty', { hint: 'give an id or a name' });
  return { single, words };
}

/** Each id once; `-` stands for ids on stdin, separated by white space. */
async function readIds(ctx: Context, given: readonly string[]): Promise<string[]> {
  if (given.filter((id) => id === '-').length > 1)
    throw new AppError('usage', '"-" is given twice, but stdin can be read only once');
  const ids: string[] = [];
  for (const word of given) {
    if (word !== '-') ids.push(word);
    else ids.push(...new TextDecoder().decode(await ctx.terminal.io.stdin.readAll()).split(/\s+/));
  }
  return [...new Set(ids)].filter((id) => id !== '');
}

/** Each id once, those on stdin for `-`. Throws `usage` for the form of one before any request. */
export async function readWords<R extends StatusRecord>(
  ctx: Context,
  resource: Resource<R>,
  given: readonly string[],
): Promise<string[]> {
  for (const word of given) if (word !== '-') checkWord(resource, word);
  const words = await readIds(ctx, given);
  for (const word of words) checkWord(resource, word);
  return words;
}

/** Throws `failed`, after the list of several, for those that cannot be read. */
export async function showRecords<R extends StatusRecord, S>(
  ctx: Context,
  resource: Resource<R>,
  given: readonly string[],
  { view, read }: { view: View<S>; read(server: Server, found: R): Promise<S> },
): Promise<S[]> {
  const single = isSingle(given);
  ctx.out.check(view, single ? 'item' : 'list');
  const words = await readWords(ctx, resource, given);
  const server = await ctx.servers.active();
  const find = finderOf(ctx, server, resource);
  const shown: S[] = [];
  const failures: string[] = [];
  for (const word of words) {
    try {
      shown.push(await read(server, await find(word)));
    } catch (error) {
      if (single || !isFailure(error)) throw error;
      failures.push(`${word}: ${error.message}`);
    }
  }
  const [first] = shown;
  if (single && first !== undefined) await ctx.out.item(view, first);
  else await ctx.out.list(view, shown, { has_more: false });
  if (failures.length === 0) return shown;
  await ctx.out.close();
  const text = `${failures.length} of ${words.length} cannot be shown: ${failures.join('; ')}`;
  const hint = `list them with: acs ${resource.command} list`;
  throw new AppError('failed', text, { hint });
}

/** Null: an id that is not known. */
export async function rememberLast(ctx: Context, server: Server, id: string | null): Promise<void> {
  try {
    await ctx.servers.lastConversation.set(originOf(server), id);
  } catch {
    // A read-only home lacks only `@last`.
  }
}

/** `@last` is not set after its conversation, by any of these ids, is deleted. */
export async function forgetLast(
  ctx: Context,
  server: Server,
  ids: readonly (string | null)[],
): Promise<void> {
  const last = await ctx.servers.lastConversation.get(originOf(server));
  if (last !== null && ids.includes(last)) await rememberLast(ctx, server, null);
}

function originOf(server: Server): string {
  return new URL(server.info.base_url).origin;
}
