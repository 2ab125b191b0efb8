/** Which sandbox a word on the command line means. */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { collectList } from '../paging.ts';

const PREFIX_MIN = 4;
/** A word of this length may be a whole id; asking for it directly is one request. */
const FULL_MIN = 16;
const NEWEST_MAX = 1000;

export interface SandboxFinder {
  /** Throws `not-found`, and `usage` for an ambiguous prefix or a word that is no id. */
  find(word: string): Promise<Sandbox>;
}

/** One finder per server and command: the list for prefixes is read once. */
export function sandboxFinder(ctx: Context, server: Server): SandboxFinder {
  let newest: Promise<Sandbox[]> | undefined;
  const list = () => (newest ??= readNewest(ctx, server));
  return {
    async find(word) {
      if (word === '@last') return await server.sandboxes.get(await sandboxOfLast(ctx, server));
      const candidates = candidatesOf(word);
      for (const id of candidates.filter((candidate) => candidate.length >= FULL_MIN)) {
        const found = await getIfThere(server, id);
        if (found) return found;
      }
      return byPrefix(word, candidates, await list());
    },
  };
}

/** An id as it is, a dashed one without its dashes, and each part of a URL. */
function candidatesOf(word: string): string[] {
  const parts = word.includes('://') ? word.split(/[/?&=#]+/).slice(2) : [word];
  const candidates = parts.flatMap((part) => [
    part,
    ...(/^[0-9a-f-]{36}$/i.test(part) ? [part.replaceAll('-', '')] : []),
  ]);
  if (!word.includes('://') && (!/^[\w.-]+$/.test(word) || word.length < PREFIX_MIN)) {
    throw new AppError('usage', `"${word}" is no sandbox id`, {
      hint: `give a whole id, the first ${PREFIX_MIN} or more characters of one, a URL that holds it, or @last`,
    });
  }
  return candidates.filter((candidate) => /^[\w.-]+$/.test(candidate));
}

async function getIfThere(server: Server, id: string): Promise<Sandbox | null> {
  try {
    return await server.sandboxes.get(id);
  } catch (error) {
    if (isAppError(error) && error.kind === 'not-found') return null;
    throw error;
  }
}

async function readNewest(ctx: Context, server: Server): Promise<Sandbox[]> {
  const { items } = await collectList({
    fetch: (page, pageSize) => server.sandboxes.list(page, pageSize),
    id: (sandbox) => sandbox.id,
    limit: NEWEST_MAX,
    signal: ctx.signal,
  });
  return items;
}

function byPrefix(word: string, candidates: readonly string[], sandboxes: readonly Sandbox[]): Sandbox {
  const isUrl = word.includes('://');
  const matches = sandboxes.filter((sandbox) =>
    candidates.some((candidate) => (isUrl ? sandbox.id === candidate : sandbox.id.startsWith(candidate))),
  );
  const exact = matches.find((sandbox) => candidates.includes(sandbox.id));
  const found = exact ?? matches[0];
  if (!found) {
    throw new AppError('not-found', `there is no sandbox ${word}`, {
      hint: `looked among the newest ${NEWEST_MAX}; see: acs sandbox list --all-pages`,
    });
  }
  if (!exact && matches.length > 1) {
    const ids = matches.map((sandbox) => sandbox.id);
    throw new AppError(
      'usage',
      `"${word}" is the beginning of ${ids.length} sandbox ids: ${ids.slice(0, 10).join(', ')}`,
      {
        hint: 'give more of the id',
        data: { candidates: ids },
      },
    );
  }
  return found;
}

async function sandboxOfLast(ctx: Context, server: Server): Promise<string> {
  const last = await ctx.lastConversation.get(new URL(server.info.base_url).origin);
  if (last === null)
    throw new AppError('not-found', 'no conversation was started at this server yet, so there is no @last');
  const { sandbox_id } = await server.conversations.get(last);
  if (sandbox_id === null) throw new AppError('not-found', `the last conversation, ${last}, has no sandbox`);
  return sandbox_id;
}
