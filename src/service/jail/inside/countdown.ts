const TICK_MS = 250;

/**
 * Calls back after so many milliseconds *of running*: the time in which this process was stopped (a paused sandbox, a
 * sleeping machine) does not count. Returns the way to call it off.
 */
export function startCountdown(durationMs: number, onEnd: () => void): () => void {
  let left = durationMs;
  let last = performance.now();
  const timer = setInterval(
    () => {
      const now = performance.now();
      left -= Math.min(now - last, 2 * TICK_MS);
      last = now;
      if (left > 0) return;
      clearInterval(timer);
      onEnd();
    },
    Math.max(1, Math.min(TICK_MS, durationMs)),
  );
  return () => {
    clearInterval(timer);
  };
}
