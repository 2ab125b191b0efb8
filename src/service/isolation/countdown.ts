const TICK_MS = 250;

/**
 * Counts the running time of a request to a sandbox, outside of it: no process inside can stop the count. The time
 * in which the sandbox is paused, or the machine is suspended, does not count.
 */
export class Countdowns {
  #held = false;

  hold(held: boolean): void {
    this.#held = held;
  }

  /** Calls back after so many milliseconds of running time. Returns a function that cancels. */
  start(durationMs: number, onEnd: () => void): () => void {
    let left = durationMs;
    let last = performance.now();
    const tick = (): void => {
      const now = performance.now();
      // A gap longer than two ticks means that this process, or the machine, was suspended.
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
