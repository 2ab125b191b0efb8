import type { Context } from '../context.ts';

/** For a command that changes something and sends no request: the list is empty, and a person reads what would happen. */
export async function printWouldDo(ctx: Context, what: string): Promise<void> {
  await ctx.out.record({ dry_run: true, requests: [] }, what);
}
