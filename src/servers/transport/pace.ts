/**
 * A token bucket: servers answer 429 to a client that asks too fast (10 requests a second on a self-hosted server,
 * 100 a minute on the cloud), so acs asks slower than that by itself.
 */
import type { Clock } from '../../clock.ts';

export interface Pace {
  /** Resolves when the next request may go out. */
  turn(signal: AbortSignal): Promise<void>;
  /** Nobody goes out before this time (milliseconds since the epoch). */
  pauseUntil(timeMs: number): void;
  /** Until when nobody goes out; a time that is over where nobody is kept. */
  pausedUntilMs(): number;
  /** Whether to report a wait until then: of requests that wait together the first one does. */
  isNews(timeMs: number): boolean;
}

export interface PaceLimit {
  perSecond: number;
  burst: number;
}

/** What `--rate` is by default, by flavour; null: as fast as it goes. */
export const PACE_LIMITS = {
  'self-hosted': { perSecond: 8, burst: 10 },
  cloud: { perSecond: 1.5, burst: 10 },
} as const satisfies Record<string, PaceLimit>;

export function createPace(limit: () => PaceLimit | null, clock: Clock): Pace {
  let tokens: number | null = null;
  let countedAtMs = 0;
  let pausedUntilMs = 0;
  let reportedUntilMs = 0;
  return {
    async turn(signal) {
      for (;;) {
        const now = clock.now();
        if (now < pausedUntilMs) {
          await clock.sleep(pausedUntilMs - now, signal);
          continue;
        }
        const current = limit();
        if (current === null) return;
        tokens = Math.min(current.burst, (tokens ?? current.burst) + ((now - countedAtMs) / 1000) * current.perSecond);
        countedAtMs = now;
        if (tokens >= 1) {
          tokens -= 1;
          return;
        }
        await clock.sleep(Math.ceil(((1 - tokens) / current.perSecond) * 1000), signal);
      }
    },
    pauseUntil(timeMs) {
      pausedUntilMs = Math.max(pausedUntilMs, timeMs);
    },
    pausedUntilMs: () => pausedUntilMs,
    isNews(timeMs) {
      const isFirst = clock.now() >= reportedUntilMs;
      reportedUntilMs = Math.max(reportedUntilMs, timeMs);
      return isFirst;
    },
  };
}
