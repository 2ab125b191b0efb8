import { setTimeout } from 'node:timers/promises';

export interface Clock {
  now(): number;
  /** Rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export function clockFrom(now: () => number): Clock {
  return {
    now,
    async sleep(ms, signal) {
      await setTimeout(ms, undefined, { signal }).catch(() => signal?.throwIfAborted());
    },
  };
}
