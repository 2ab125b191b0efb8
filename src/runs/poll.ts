import type { Clock } from '../cli/clock.ts';

/** Milliseconds; each pause is 1.5 times the one before. */
export interface Cadence {
  firstMs: number;
  mostMs: number;
}

export const QUICK: Cadence = { firstMs: 50, mostMs: 500 };
export const STEADY: Cadence = { firstMs: 200, mostMs: 2_000 };

const GROWTH = 1.5;

export interface PollOptions {
  clock: Clock;
  signal: AbortSignal;
  every: Cadence;
  /** The first look at or after this time is the last; without it only the signal ends poll. */
  until?: number;
  readBefore?: true;
}

/** Looks at once, unless `readBefore`, and after each pause until the look returns a value. */
type Look<T> = () => Promise<T | undefined>;

/** Undefined when the last look returned nothing. Throws what a look throws. */
export async function poll<T>(look: Look<T>, options: PollOptions & { until: number }): Promise<T | undefined>;
export async function poll<T>(look: Look<T>, options: PollOptions & { until?: undefined }): Promise<T>;
export async function poll<T>(
  look: Look<T>,
  { clock, signal, every, until, readBefore }: PollOptions,
): Promise<T | undefined> {
  let isRead = readBefore === true;
  for (let pauseMs = every.firstMs; ; pauseMs = Math.min(pauseMs * GROWTH, every.mostMs)) {
    const found = isRead ? undefined : await look();
    isRead = false;
    if (found !== undefined || clock.now() >= (until ?? Infinity)) return found;
    await clock.sleep(pauseMs, signal);
  }
}
