/** Finds the record that a word on the command line names. */
import type { Context } from '../../context.ts';
import { matchPrefix, PREFIX_MIN, type IdWord } from '../../domain/ids.ts';
import { collectPages } from '../../domain/pages.ts';
import { AppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { idOf, type Resource, type StatusRecord } from './resource.ts';

/** Prefixes are matched against the newest records only: a longer list would cost a request for every 100 records. */
const NEWEST_MAX = 1000;
const CANDIDATES_PRINTED = 10;

export interface Finder<R> {
  /**
   * The record as its server has it now; a conversation that is still being started comes with an empty `id`.
   * Throws `not-found`, and `usage` for an ambiguous prefix (`data.candidates`) or a word that is not an id.
   */
  find(word: string): Promise<R>;
}

/** One finder per server and command: the list that prefixes need is read once. */
export function finderOf<R extends StatusRecord>(ctx: Context, server: Server, resource: Resource<R>): Finder<R> {
  let newest: Promise<R[]> | undefined;
  return {
    async find(word) {
      const named = readWord(resource, word);
      if (named === 'last') return await resource.ofLast(server, await lastConversation(ctx, server));
      let missing: unknown = null;
      for (const id of named.ids) {
        try {
          return await resource.get(server, id);
        } catch (error) {
          if (!isNotFound(error)) throw error;
          missing ??= error;
        }
      }
      if (named.prefix === null) throw missing;
      newest ??= readNewest(ctx, server, resource);
      return pickByPrefix(resource, named.prefix, await newest);
    },
  };
}

/** For a command that takes one id. */
export async function findOne<R extends StatusRecord>(
  ctx: Context,
  server: Server,
  resource: Resource<R>,
  word: string,
): Promise<R> {
  return await finderOf(ctx, server, resource).find(word);
}

/** Checks the form of an id before any request; throws `usage`. */
export function checkWord<R extends StatusRecord>(resource: Resource<R>, word: string): void {
  readWord(resource, word);
}

/** Stores the newest conversation of a server, for `@last`. */
export async function rememberLast(ctx: Context, server: Server, id: string): Promise<void> {
  try {
    await ctx.lastConversation.set(originOf(server), id);
  } catch {
    // With a read-only home only `@last` is missing.
  }
}

async function lastConversation(ctx: Context, server: Server): Promise<string> {
  const last = await ctx.lastConversation.get(originOf(server));
  if (last !== null) return last;
  throw new AppError('not-found', '@last is not set: no conversation was started on this server', {
    hint: 'start one: acs conv new, or see: acs conv list',
  });
}

function originOf(server: Server): string {
  return new URL(server.info.base_url).origin;
}

function readWord<R extends StatusRecord>({ noun, readWord }: Resource<R>, word: string): IdWord {
  const named = readWord(word);
  if (named !== null) return named;
  throw new AppError('usage', `"${word.slice(0, 200)}" is not a ${noun} id`, {
    hint: `give a full id, its first ${PREFIX_MIN} or more characters, a URL that contains it, or @last`,
  });
}

async function readNewest<R extends StatusRecord>(ctx: Context, server: Server, resource: Resource<R>): Promise<R[]> {
  const { items } = await collectPages({
    fetch: (page, pageSize) => resource.list(server, page, pageSize),
    id: (record) => resource.view.id(record),
    limit: NEWEST_MAX,
  });
  return items;
}

function pickByPrefix<R extends StatusRecord>(resource: Resource<R>, prefix: string, newest: readonly R[]): R {
  const { noun, plural, command } = resource;
  const match = matchPrefix(prefix, newest, (record) => resource.idsOf(record));
  if (match.kind === 'one') return match.item;
  if (match.kind === 'none') {
    throw new AppError('not-found', `no ${noun} begins with ${prefix}`, {
      hint: `the newest ${NEWEST_MAX} were searched; an older one needs its full id: acs ${command} list --all-pages`,
    });
  }
  const candidates = match.items.map((record) => idOf(resource, record));
  const printed = candidates.slice(0, CANDIDATES_PRINTED).join(', ');
  throw new AppError('usage', `${candidates.length} ${plural} begin with ${prefix}: ${printed}`, {
    hint: `the newest ${NEWEST_MAX} were searched; give more characters of the id`,
    data: { candidates },
  });
}
