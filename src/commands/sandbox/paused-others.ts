/**
 * A server with a limit pauses the oldest sandboxes when another one starts (interface 5.3). Their owner should hear
 * of it: the list before and after tells which.
 */
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import type { Server } from '../../servers/server.ts';
import { hasSeveralProfiles } from '../paging.ts';

/** Runs the work and says on stderr which other sandboxes the server paused meanwhile. */
export async function withPausedOthers(ctx: Context, work: () => Promise<void>): Promise<void> {
  if (hasSeveralProfiles(ctx) || ctx.globals.mode === 'dry-run') return await work();
  const server = await ctx.server();
  const before = await runningIds(server);
  await work();
  if (before.length === 0) return;
  const paused = (await newest(server)).filter(({ id, status }) => status === 'paused' && before.includes(id));
  if (paused.length === 0) return;
  const ids = paused.map(({ id }) => id).join(', ');
  await ctx.notice(
    `the server paused ${paused.length === 1 ? 'another sandbox' : 'other sandboxes'} to make room: ${ids}`,
  );
}

async function runningIds(server: Server): Promise<string[]> {
  return (await newest(server)).filter(({ status }) => status === 'running').map(({ id }) => id);
}

/** One page is enough: the limits of servers are 5 and 10 running sandboxes. */
async function newest(server: Server): Promise<Sandbox[]> {
  return (await server.sandboxes.list(null, 100)).items;
}
