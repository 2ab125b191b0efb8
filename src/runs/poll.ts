import type { Clock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import { isPassing } from './deadline.ts';

/** Milliseconds; each pause is 1.5 times the one before. */
export interface Cadence {
  firstMs: number;
  mostMs: number;
}

export const QUICK: Cadence = { firstMs: 50, mostMs: 500 };
export const STEADY: Cadence = { firstMs: 200, mostMs: 2_000 };

const GROWTH = 1.5;
/** A server that fails for less than this may restart. */
const OUTAGE_MS = 60_000;

export interface PollOptions {
  clock: Clock;
  signal: AbortSignal;
  every: Cadence;
  /**
   * The first look that is answered at or after this time is the last; without it only the signal
   * ends poll.
   */
  until?: number;
  readBefore?: true;
  /** How long requests may fail: 0 where the caller repeats them. */
  outageMs?: number;
}

/** Looks at once, unless `readBefore`, and after each pause until the look returns a value. */
type Look<T> = () => Promise<T | undefined>;

/**
 * Undefined when the last look returned nothing. Throws what a look throws; a request that failed
 * and may succeed later is repeated, and its error thrown after 60 s without an answer.
 */
export async function poll<T>(
  look: Look<T>,
  options: PollOptions & { until: number },
): Promise<T | undefined>;
export async function poll<T>(
  look: Look<T>,
  options: PollOptions & { until?: undefined },
): Promise<T>;
export async function poll<T>(
  look: Look<T>,
  { clock, signal, every, until = Infinity, readBefore, outageMs = OUTAGE_MS }: PollOptions,
): Promise<T | undefined> {
  let failingSinceMs: number | null = null;
  let isRead = readBefore === true;
  for (let pauseMs = every.firstMs; ; pauseMs = Math.min(pauseMs * GROWTH, every.mostMs)) {
    try {
      const found = isRead ? undefined : await look();
      if (found !== undefined || clock.now() >= until) return found;
      failingSinceMs = null;
    } catch (error) {
      // Without a request it is a verdict on what was read.
      const mayPass = isPassing(error) && isAppError(error) && error.details.request !== undefined;
      failingSinceMs ??= clock.now();
      if (!mayPass || clock.now() - failingSinceMs >= outageMs) throw error;
    }
    isRead = false;
    await clock.sleep(pauseMs, signal);
  }
}

/** A single read, after a wait or a change: an outage does not end the command either. */
export async function readThroughOutage<T extends object | null>(
  { clock, signal }: Pick<PollOptions, 'clock' | 'signal'>,
  read: () => Promise<T>,
): Promise<T> {
  return await poll(read, { clock, signal, every: STEADY });
}
