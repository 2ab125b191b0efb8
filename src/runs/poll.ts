/** The polling loop for states. The follower and the tracker have their own times. */
import type { Clock } from '../clock.ts';

/** The pause after the first look and the longest one, in milliseconds; each pause is 1.5 times the one before. */
export interface Cadence {
  firstMs: number;
  mostMs: number;
}

/** For a state that follows within a second or two. */
export const QUICK: Cadence = { firstMs: 50, mostMs: 500 };
/** For a state that may take minutes. */
export const STEADY: Cadence = { firstMs: 200, mostMs: 2_000 };

const GROWTH = 1.5;

export interface PollOptions {
  clock: Clock;
  /** Ends a pause; poll then throws its reason. */
  signal: AbortSignal;
  every: Cadence;
  /** On the clock: the first look at or after this time is the last. Without it poll ends by the signal alone. */
  until?: number;
  /** The state was read right before: the first look comes after the first pause. */
  readBefore?: true;
}

/** Looks at once, unless `readBefore`, and after each pause until the look returns a value. */
type Look<T> = () => Promise<T | undefined>;

/** @returns what a look has returned; undefined when the last one returned nothing. Throws what a look throws. */
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
