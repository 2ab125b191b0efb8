/** The diff of a workspace, with its progress where it takes a request for each file. */
import type { Context } from '../../context.ts';
import type { DiffBase, Server, WorkspaceDiff } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';

/** From so many files on, a command off a terminal prints a notice that it sends a request for each. */
const MANY_FILES = 100;

/** A server that returns no patch gets a request for each file: progress on a terminal, one notice elsewhere. */
export async function diffWithProgress(
  ctx: Context,
  server: Server,
  id: string,
  against: DiffBase = 'start',
): Promise<WorkspaceDiff> {
  if (!ctx.io.stderr.isTTY) return await diffWithNotice(ctx, server, id, against);
  const progress = await ctx.progress(`conversation ${id}: comparing the workspace`);
  const startedAtMs = ctx.clock.now();
  try {
    const onRead = (read: number, of: number): void => {
      const left = remaining(read, of, ctx.clock.now() - startedAtMs);
      progress.update(`${read} of ${of} files compared${left === null ? '' : `, about ${left} left`}`);
    };
    return await server.conversations.diff(id, { onRead, against });
  } finally {
    await progress.done();
  }
}

/** How long the rest takes at the speed so far, in whole seconds or minutes; null: not known, or nothing is left. */
function remaining(read: number, of: number, elapsedMs: number): string | null {
  if (read === 0 || read === of) return null;
  const leftMs = (elapsedMs / read) * (of - read);
  const unitMs = leftMs < 120_000 ? 1_000 : 60_000;
  return formatDuration(Math.max(1, Math.round(leftMs / unitMs)) * unitMs);
}

async function diffWithNotice(ctx: Context, server: Server, id: string, against: DiffBase): Promise<WorkspaceDiff> {
  let noticed = null as Promise<void> | null;
  const onRead = (_: number, of: number): void => {
    if (of >= MANY_FILES) noticed ??= ctx.notice(`comparing ${of} files, each with a request of its own`);
  };
  const diff = await server.conversations.diff(id, { onRead, against });
  await noticed;
  return diff;
}
