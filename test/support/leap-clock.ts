/**
 * Time for a test at a service with processes of its own. Short pauses take their real time; a limit is over when the
 * test makes time leap and no sooner, however slow the machine is.
 */
import { clockFrom } from '../../src/clock.ts';
import type { Clock } from '../../src/clock.ts';

/** Nothing pauses for so long: a longer sleep is a limit for something else. */
const SHORTEST_LIMIT_MS = 5_000;
const NEVER_MS = 2 ** 31 - 1;

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
        await real.sleep(ms < SHORTEST_LIMIT_MS ? ms : NEVER_MS, AbortSignal.any(signals));
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
