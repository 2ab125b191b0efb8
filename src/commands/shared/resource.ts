/** What the verbs of `conv` and `sandbox` have in common. */
import type { Context } from '../context.ts';
import type { Server } from '../../client/shared/server.ts';
import { type IdWord, matchPrefix, PREFIX_MIN } from '../../domain/ids.ts';
import { type Page, collectPages } from '../../domain/pages.ts';
import type { Selection } from '../../domain/selectors.ts';
import type { View } from '../../output/view.ts';
import { AppError, isFailure, isNotFound } from '../../base/errors.ts';
import { readIds } from './bulk.ts';
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
  /**
   * All ids that a record is known by; empty ones never match a prefix. The first that is not empty
   * is printed.
   */
  idsOf(record: R): readonly string[];
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
  /** As it was when it was chosen; in `apply`, as it was read right before. */
  seen: R;
  /** Undefined for a record that was named, and with --all. */
  matches?: (record: R) => boolean;
  chosenBy: 'id' | 'selector';
}

export interface Preview {
  preview: string[];
  /** The end of the question, such as ` with 2 conversations`. */
  suffix: string;
}

export function idOf<R extends StatusRecord>(resource: Resource<R>, record: R): string {
  return resource.idsOf(record).find((id) => id !== '') ?? '';
}

/**
 * Prefixes are matched against the newest records only: a longer list would cost a request for
 * every 100 records.
 */
const NEWEST_MAX = 1000;
const CANDIDATES_PRINTED = 10;

export interface Finder<R> {
  /**
   * Throws `not-found`, and `usage` for an ambiguous prefix. `id` is empty while a conversation is
   * being started.
   */
  find(word: string): Promise<R>;
}

/** One finder per server and command: the list that prefixes need is read once. */
export function finderOf<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
): Finder<R> {
  const { noun, plural, command } = resource;
  let newest: Promise<{ items: R[]; has_more: boolean }> | undefined;
  return {
    async find(word) {
      const named = checkWord(resource, word);
      if (named === 'last') {
        const last = await ctx.servers.lastConversation.get(originOf(server));
        if (last !== null) return await resource.ofLast(server, last);
        throw new AppError(
          'not-found',
          '@last is not set: no conversation was started on this server',
          {
            hint: 'start one: acs conv new, or see: acs conv list',
          },
        );
      }
      const { ids, prefix } = named;
      for (const [index, id] of ids.entries()) {
        try {
          return await resource.get(server, id);
        } catch (error) {
          if (!isNotFound(error) || (prefix === null && index === ids.length - 1)) throw error;
        }
      }
      newest ??= collectPages({
        fetch: (page, pageSize) => resource.list(server, page, pageSize),
        id: (record) => resource.view.id(record),
        limit: NEWEST_MAX,
      });
      const { items, has_more } = await newest;
      const matches = matchPrefix(prefix ?? '', items, (record) => resource.idsOf(record));
      const [match] = matches;
      if (match === undefined) {
        throw new AppError('not-found', `no ${noun} begins with ${prefix}`, {
          hint: has_more
            ? `the newest ${NEWEST_MAX} were searched; an older one needs its full id: acs ` +
              `${command} list --all-pages`
            : `list them with: acs ${command} list`,
        });
      }
      if (matches.length === 1) return match;
      const candidates = matches.map((record) => idOf(resource, record));
      const printed = candidates.slice(0, CANDIDATES_PRINTED).join(', ');
      throw new AppError(
        'usage',
        `${candidates.length} ${plural} begin with ${prefix}: ${printed}`,
        {
          hint: 'give more characters of the id',
          data: { candidates },
        },
      );
    },
  };
}

export async function findOne<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
  word: string,
): Promise<R> {
  return await finderOf(ctx, server, resource).find(word);
}

/** Checks the form of an id before any request; throws `usage`. */
export function checkWord<R extends StatusRecord>(
  { noun, readWord }: Resource<R>,
  word: string,
): IdWord {
  const named = readWord(word);
  if (named !== null) return named;
  throw new AppError('usage', `"${cut(word, 200)}" is not a ${noun} id`, {
    hint:
      `give a full id, its first ${PREFIX_MIN} or more characters, a URL that contains it, ` +
      'or @last',
  });
}

/**
 * The ids that were given, those on stdin for `-`. Throws `usage` for the form of one before any
 * request.
 */
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

/**
 * One record as an object, several as a list. Throws `failed`, after the list, for those that
 * cannot be read.
 */
export async function showRecords<R extends StatusRecord, S>(
  ctx: Context,
  resource: Resource<R>,
  given: readonly string[],
  { view, read }: { view: View<S>; read(server: Server, found: R): Promise<S> },
): Promise<S[]> {
  const isSingle = given.length === 1 && given[0] !== '-';
  ctx.out.check(view, isSingle ? 'item' : 'list');
  const words = await readWords(ctx, resource, given);
  const server = await ctx.servers.active();
  const finder = finderOf(ctx, server, resource);
  const shown: S[] = [];
  const failures: string[] = [];
  for (const word of words) {
    try {
      shown.push(await read(server, await finder.find(word)));
    } catch (error) {
      if (isSingle || !isFailure(error)) throw error;
      failures.push(`${word}: ${error.message}`);
    }
  }
  const [first] = shown;
  if (isSingle && first !== undefined) await ctx.out.item(view, first);
  else await ctx.out.list(view, shown, { has_more: false });
  if (failures.length === 0) return shown;
  await ctx.out.close();
  throw new AppError(
    'failed',
    `${failures.length} of ${words.length} cannot be shown: ${failures.join('; ')}`,
    {
      hint: `list them with: acs ${resource.command} list`,
    },
  );
}

/** Null: an id that is not known. */
export async function rememberLast(ctx: Context, server: Server, id: string | null): Promise<void> {
  try {
    await ctx.servers.lastConversation.set(originOf(server), id);
  } catch {
    // With a read-only home only `@last` is missing.
  }
}

function originOf(server: Server): string {
  return new URL(server.info.base_url).origin;
}
