/**
 * A token bucket: servers answer 429 to a client that sends too many requests (10 a second on a self-hosted server, 100 a
 * minute on the cloud), so acs stays below that.
 */
import type { Clock } from '../../clock.ts';

export interface Pace {
  /** Resolves when the next request may go out. */
  turn(signal: AbortSignal): Promise<void>;
  /** No request is sent before this time (milliseconds since the epoch). */
  pauseUntil(timeMs: number): void;
  /** Until when no request is sent; a past time without a pause. */
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
  /** Takes a token: 0, or the milliseconds after which to try again. */
  const take = (): number => {
    const now = clock.now();
    if (now < pausedUntilMs) return pausedUntilMs - now;
    const current = limit();
    if (current === null) return 0;
    tokens = Math.min(current.burst, (tokens ?? current.burst) + ((now - countedAtMs) / 1000) * current.perSecond);
    countedAtMs = now;
    if (tokens < 1) return Math.ceil(((1 - tokens) / current.perSecond) * 1000);
    tokens -= 1;
    return 0;
  };
  return {
    async turn(signal) {
      for (let waitMs = take(); waitMs > 0; waitMs = take()) await clock.sleep(waitMs, signal);
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
