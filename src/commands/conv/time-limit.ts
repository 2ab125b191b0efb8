import type { Context } from '../../context.ts';

/** Timers hold at most 2^31 ms. */
const LONGEST_TIMER_MS = 2_000_000_000;

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
