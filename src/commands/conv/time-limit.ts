import type { Context } from '../../context.ts';
import { LAST_LOOK_MS, LONGEST_TIMER_MS, type Limits } from '../deadline.ts';

/** The first of these that settles, or `time` when none does within so many milliseconds (Infinity: no limit). */
export async function beforeTime<T>(
  { clock }: Pick<Context, 'clock'>,
  dueMs: number,
  promises: readonly Promise<T>[],
): Promise<T | 'time'> {
  if (dueMs === Number.POSITIVE_INFINITY) return await Promise.race(promises);
  const timer = new AbortController();
  const time = clock.sleep(Math.min(Math.max(dueMs, 0), LONGEST_TIMER_MS), timer.signal).then(
    () => 'time' as const,
    () => 'time' as const,
  );
  try {
    return await Promise.race([...promises, time]);
  } finally {
    timer.abort();
  }
}

/** The answer, or `time` when it does not come before the end of what a command may use after its deadline. */
export async function beforeEnd<T>(
  ctx: Pick<Context, 'clock'>,
  { deadlineMs }: Pick<Limits, 'deadlineMs'>,
  answer: Promise<T>,
): Promise<T | 'time'> {
  const leftMs = Math.max(deadlineMs - ctx.clock.now(), 0) + LAST_LOOK_MS;
  return await beforeTime(ctx, leftMs, [answer]);
}
