import type { Clock } from '../base/clock.ts';
import { isPassing } from './deadline.ts';

export interface Cadence {
  firstMs: number;
  mostMs: number;
}

export const QUICK: Cadence = { firstMs: 50, mostMs: 500 };
export const STEADY: Cadence = { firstMs: 200, mostMs: 2_000 };

const GROWTH = 1.5;
/** A server may need this time to restart. */
const OUTAGE_MS = 60_000;

export interface PollOptions {
  clock: Clock;
  signal: AbortSignal;
  every: Cadence;
  /** The first read that is answered at or after this time is the last. */
  until?: number;
  readBefore?: true;
  /** How long requests may fail: 0 where the caller repeats them. */
  outageMs?: number;
}

/**
 * Reads until `read` returns a value; undefined when the last read returned none. Throws what
 * `read` throws, except for a request that may succeed later: its error after 60 s of failures.
 */
export async function poll<T>(
  read: () => Promise<T | undefined>,
  options: PollOptions & { until: number },
): Promise<T | undefined>;
export async function poll<T>(
  read: () => Promise<T | undefined>,
  options: PollOptions & { until?: undefined },
): Promise<T>;
export async function poll<T>(
  read: () => Promise<T | undefined>,
  { clock, signal, every, until = Infinity, readBefore, outageMs = OUTAGE_MS }: PollOptions,
): Promise<T | undefined> {
  let failingSinceMs: number | null = null;
  let pauseMs = every.firstMs;
  const pause = async (): Promise<void> => {
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * GROWTH, every.mostMs);
  };
  if (readBefore) await pause();
  for (;;) {
    try {
      const value = await read();
      if (value !== undefined || clock.now() >= until) return value;
      failingSinceMs = null;
    } catch (error) {
      // An error without a request is a verdict on what was read.
      const mayPass = isPassing(error) && error.details.request !== undefined;
      failingSinceMs ??= clock.now();
      if (!mayPass || clock.now() - failingSinceMs >= outageMs) throw error;
    }
    await pause();
  }
}

/** A single read that an outage of up to 60 s does not end. */
export async function readThroughOutage<T extends object | null>(
  { clock, signal }: Pick<PollOptions, 'clock' | 'signal'>,
  read: () => Promise<T>,
): Promise<T> {
  return await poll(read, { clock, signal, every: STEADY });
}
