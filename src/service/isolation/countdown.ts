const TICK_MS = 250;

/**
 * Counts the running time of what a sandbox was asked for, outside of it: nothing inside can stop the count. The time
 * in which the sandbox is paused, or the machine stands still, does not count.
 */
export class Countdowns {
  #held = false;

  hold(held: boolean): void {
    this.#held = held;
  }

  /** Calls back after so many milliseconds of running. Returns the way to call it off. */
  start(durationMs: number, onEnd: () => void): () => void {
    let left = durationMs;
    let last = performance.now();
    const tick = (): void => {
      const now = performance.now();
      // A longer gap than two ticks means that this process, or the machine, stood still.
      if (!this.#held) left -= Math.min(now - last, 2 * TICK_MS);
      last = now;
      if (left > 0) return;
      clearInterval(timer);
      onEnd();
    };
    const timer = setInterval(tick, Math.max(1, Math.min(TICK_MS, durationMs)));
    return () => {
      clearInterval(timer);
    };
  }
}
