/** Which conversation a word on the command line means. Shared by all nouns. */
import type { Context } from '../context.ts';
import type { Conversation } from '../domain/conversation.ts';
import { matchPrefix, normalizeId, PREFIX_MIN, readIdWord } from '../domain/ids.ts';
import { AppError, isAppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import { collectList } from './paging.ts';

const NEWEST_MAX = 1000;
const CANDIDATES_SHOWN = 10;

export interface ConversationFinder {
  /**
   * The conversation as its server tells it now; one that is still being started comes with an empty `id`.
   * Throws `not-found`, and `usage` for an ambiguous prefix (`data.candidates`) or a word that is no id.
   */
  find(word: string): Promise<Conversation>;
}

/** One finder per server and command: the list that prefixes need is read once. */
export function conversationFinder(ctx: Context, server: Server): ConversationFinder {
  let newest: Promise<Conversation[]> | undefined;
  const byPrefix = async (word: string): Promise<Conversation> => {
    return pickByPrefix(word, await (newest ??= readNewest(ctx, server)));
  };
  return {
    async find(word) {
      const id = readIdWord(word);
      if (id === null) throw noId(word);
      switch (id.kind) {
        case 'last':
          return await server.conversations.get(await lastId(ctx, server));
        case 'full':
          return await server.conversations.get(id.id);
        case 'url':
          return await firstFound(server, id.ids, word);
        case 'prefix':
          return await byPrefix(id.prefix);
      }
    },
  };
}

/** For a command that takes one id. */
export async function findConversation(ctx: Context, server: Server, word: string): Promise<Conversation> {
  return await conversationFinder(ctx, server).find(word);
}

/** Checks the form of an id before any request; throws `usage`. */
export function checkIdWord(word: string): void {
  if (readIdWord(word) === null) throw noId(word);
}

/** Remembers the newest conversation of a server, for `@last`. */
export async function rememberLast(ctx: Context, server: Server, id: string): Promise<void> {
  try {
    await ctx.lastConversation.set(originOf(server), id);
  } catch {
    // A read-only home takes nothing away but `@last`.
  }
}

function originOf(server: Server): string {
  return new URL(server.info.base_url).origin;
}

async function lastId(ctx: Context, server: Server): Promise<string> {
  const last = await ctx.lastConversation.get(originOf(server));
  if (last === null) {
    throw new AppError('not-found', '@last is not set: no conversation was started on this server', {
      hint: 'start one: acs conv new, or see: acs conv list',
    });
  }
  return last;
}

async function firstFound(server: Server, ids: readonly string[], url: string): Promise<Conversation> {
  for (const id of ids) {
    try {
      return await server.conversations.get(id);
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'not-found') throw error;
    }
  }
  throw new AppError('not-found', `this server has no conversation with the id in ${url.slice(0, 200)}`);
}

async function readNewest(ctx: Context, server: Server): Promise<Conversation[]> {
  const { items } = await collectList({
    fetch: (page, pageSize) => server.conversations.list({ pageSize }, page),
    id: (conversation) => conversation.id,
    limit: NEWEST_MAX,
    signal: ctx.signal,
  });
  return items;
}

function pickByPrefix(word: string, conversations: readonly Conversation[]): Conversation {
  const match = matchPrefix(word, conversations, ({ id, start_task_id }) => [id, start_task_id ?? '']);
  if (match.kind === 'one') return match.item;
  if (match.kind === 'none') {
    throw new AppError('not-found', `no conversation begins with ${word}`, {
      hint: `the newest ${NEWEST_MAX} were searched; an older one needs its full id: acs conv list --all-pages`,
    });
  }
  const candidates = match.items.map(({ id, start_task_id }) => id || (start_task_id ?? ''));
  const shown = candidates.slice(0, CANDIDATES_SHOWN).join(', ');
  throw new AppError('usage', `${candidates.length} conversations begin with ${word}: ${shown}`, {
    hint: `the newest ${NEWEST_MAX} were searched; give more characters of the id`,
    data: { candidates },
  });
}

function noId(word: string): AppError {
  return new AppError('usage', `"${word.slice(0, 200)}" is not a conversation id`, {
    hint: `give a full id, its first ${PREFIX_MIN} or more characters, a URL that contains it, or @last`,
  });
}

/** `--id`: an id of the caller's choice. All digits break servers that keep ids in SQLite (interface 4.1). */
export function readChosenId(text: string): string {
  const id = normalizeId(text);
  if (id === null || /^\d+$/.test(id)) {
    throw new AppError('usage', `--id: "${text.slice(0, 100)}" is not a valid id`, {
      hint: 'give a UUID (32 hexadecimal digits) that is not all digits 0 to 9, such as that of uuidgen',
    });
  }
  return id;
}
