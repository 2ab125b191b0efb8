import type { Context, DryRunRequest } from '../context.ts';
import { isAppError } from '../errors.ts';
import { endOfDryRun, requestsKeptBack } from './bulk.ts';

/** For a command that changes something and sends no request: the list is empty, and a person reads what would happen. */
export async function printWouldDo(ctx: Context, what: string): Promise<void> {
  await ctx.out.record({ dry_run: true, requests: [] }, what);
}

/**
 * For a command that writes in several steps: the requests of each, in order, and the end of the dry run. A step may
 * need what only an earlier one brings, a running sandbox for example; then a notice names what is not printed.
 */
export async function planSteps(
  ctx: Context,
  steps: readonly { what: string; task: () => Promise<unknown> }[],
): Promise<never> {
  const kept: DryRunRequest[] = [];
  for (const { what, task } of steps) {
    try {
      await task();
    } catch (error) {
      const requests = requestsKeptBack(error);
      if (requests) kept.push(...requests);
      else if (kept.length > 0 && isAppError(error)) await ctx.notice(`then: ${what}`);
      else throw error;
    }
  }
  throw endOfDryRun(kept);
}
