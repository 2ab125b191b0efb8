/** A server with a limit pauses its oldest sandboxes when another one starts (interface 5.3); a notice names them. */
import type { Context } from '../context.ts';
import { isAppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import { hasSeveralProfiles } from './paging.ts';

/**
 * Reads which sandboxes run. A read that fails, or that the signal of its server aborts, is no reason not to start.
 * @param known sandboxes that the command pauses itself, and those that a notice has named: these are added
 * @returns what prints, after the start, which of them are paused now; it reads from the server it is given
 */
export async function watchOthers(
  ctx: Context,
  server: Server,
  known = new Set<string>(),
): Promise<(server: Server) => Promise<void>> {
  const silent = () => Promise.resolve();
  if (server.presence('sandboxes') === 'absent' || ctx.globals.mode === 'dry-run') return silent;
  const before = await idsWith(server, 'running');
  ctx.signal.throwIfAborted();
  if (before.length === 0) return silent;
  return async (then) => {
    const paused = (await idsWith(then, 'paused')).filter((id) => before.includes(id) && !known.has(id));
    if (paused.length === 0) return;
    for (const id of paused) known.add(id);
    const what = paused.length === 1 ? 'another sandbox' : 'other sandboxes';
    await ctx.notice(`the server paused ${what} to make room: ${paused.join(', ')}`);
  };
}

/** As watchOthers, around the work of a command; with several profiles there is no one server to ask. */
export async function withPausedOthers(ctx: Context, work: () => Promise<void>): Promise<void> {
  if (hasSeveralProfiles(ctx)) return await work();
  const server = await ctx.server();
  const printPaused = await watchOthers(ctx, server);
  await work();
  await printPaused(server);
}

/** One page is enough: the limits of servers are 5, 10 and 20. A list that cannot be read does not prevent the start. */
async function idsWith(server: Server, wanted: 'running' | 'paused'): Promise<string[]> {
  try {
    const { items } = await server.sandboxes.list(null, 100, 'none');
    return items.filter(({ status }) => status === wanted).map(({ id }) => id);
  } catch (error) {
    // Interruptions are handled by the command, which prints its document itself.
    if (!isAppError(error)) throw error;
    return [];
  }
}
