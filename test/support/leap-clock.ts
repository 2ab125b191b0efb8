/** Real time that a test can make leap, so that a limit of hours is over at the moment the test says and no sooner. */
import { clockFrom } from '../../src/clock.ts';
import type { Clock } from '../../src/context.ts';

export interface LeapClock extends Clock {
  /** Whoever sleeps until then is woken. */
  leap(ms: number): void;
}

export function leapClock(): LeapClock {
  let leaptMs = 0;
  const now = () => Date.now() + leaptMs;
  const real = clockFrom(now);
  const sleepers = new Set<{ atMs: number; wake: AbortController }>();
  return {
    now,
    async sleep(ms, signal) {
      const sleeper = { atMs: now() + ms, wake: new AbortController() };
      sleepers.add(sleeper);
      const signals = [sleeper.wake.signal, ...(signal === undefined ? [] : [signal])];
      try {
        await real.sleep(ms, AbortSignal.any(signals));
      } catch (error) {
        if (signal?.aborted || !sleeper.wake.signal.aborted) throw error;
      } finally {
        sleepers.delete(sleeper);
      }
    },
    leap(ms) {
      leaptMs += ms;
      for (const { atMs, wake } of sleepers) if (atMs <= now()) wake.abort();
    },
  };
}
