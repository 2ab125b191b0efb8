import type { Clock } from './clock.ts';

/** Counts the users of the service, and the time since its last use. */
export interface Activity {
  begin(): void;
  end(): void;
  /** 0 while a request is under way. */
  idleSeconds(): number;
}

export function createActivity(clock: Clock): Activity {
  const state = { open: 0, lastMs: clock.now() };
  return {
    begin() {
      state.open++;
    },
    end() {
      state.open--;
      state.lastMs = clock.now();
    },
    idleSeconds: () => (state.open > 0 ? 0 : Math.max(0, (clock.now() - state.lastMs) / 1000)),
  };
}

export interface IdleOptions {
  activity: Activity;
  /** A conversation is running. */
  isBusy(): boolean;
  /** 0: never. */
  timeoutMs: number;
  onIdle(): void;
}

const CHECKS_PER_TIMEOUT = 20;
const LONGEST_PAUSE_MS = 30_000;

/** Calls `onIdle` after the whole timeout without a request and without a run. */
export function watchIdle({ activity, isBusy, timeoutMs, onIdle }: IdleOptions): { stop(): void } {
  if (timeoutMs <= 0) return { stop: () => undefined };
  const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(10, timeoutMs / CHECKS_PER_TIMEOUT));
  const timer = setInterval(() => {
    // A run prevents the end of the service, and the time counts from the end of the run.
    if (isBusy()) {
      activity.begin();
      activity.end();
    } else if (activity.idleSeconds() * 1000 >= timeoutMs) {
      clearInterval(timer);
      onIdle();
    }
  }, pauseMs);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
    },
  };
}
