import type { Clock } from '../../src/clock.ts';

/** Code that sleeps more often than this in one step of a test does not end. */
const MOST_WAKES = 2_000;

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  /** How much earlier than asked for a sleeper wakes, as one of Node may by a fraction of a millisecond. */
  earlyMs = 0;
  /** How long was slept each time. */
  readonly pauses: number[] = [];
  private nowMs = 0;
  private sleepers: { atMs: number; wake: () => void }[] = [];

  /** How many wait. */
  get sleeping(): number {
    return this.sleepers.length;
  }

  now(): number {
    return this.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      this.pauses.push(ms);
      const sleeper = { atMs: this.nowMs + (ms > this.earlyMs ? ms - this.earlyMs : ms), wake: resolve };
      this.sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal.reason as Error);
      });
    });
  }

  /** Time passes as seen by sleepers: each wakes at its time. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (let wakes = 0; ; wakes++) {
      if (wakes > MOST_WAKES) throw new Error(`the code under test has slept ${MOST_WAKES} times within ${ms} ms`);
      await settled();
      const next = this.sleepers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.sleepers = this.sleepers.filter((other) => other !== next);
      next.wake();
    }
    this.nowMs = untilMs;
    await settled();
  }
}

/** Lets everything run that waits for nothing but other code. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
