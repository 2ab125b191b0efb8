/** A connection as wire.ts makes it, to a fake server. */
import { connect } from '../../../src/servers/connect.ts';
import type { Server } from '../../../src/servers/server.ts';
import type { Clock } from '../../../src/clock.ts';
import type { ConnectOptions } from '../../../src/servers/connect-options.ts';

/** A sleep of so long is a limit of something: a busy machine must be able to answer before it is over. */
const LIMIT_MS = 10_000;

/**
 * Waits are over at once, and time goes on by them alone: what a test sees depends neither on how long they were nor
 * on how fast the machine is. Limits take as long as they say.
 */
export function quickClock(): Clock & { waited: number[] } {
  const waited: number[] = [];
  let nowMs = Date.now();
  return {
    waited,
    now: () => nowMs,
    sleep(ms, signal) {
      signal?.throwIfAborted();
      waited.push(ms);
      const endsAtMs = nowMs + ms;
      return new Promise((resolve, reject) => {
        const aborted = (): void => {
          clearTimeout(timer);
          reject(signal?.reason as Error);
        };
        const timer = setTimeout(
          () => {
            signal?.removeEventListener('abort', aborted);
            nowMs = Math.max(nowMs, endsAtMs);
            resolve();
          },
          ms < LIMIT_MS ? Math.min(ms, 5) : ms,
        );
        signal?.addEventListener('abort', aborted, { once: true });
      });
    },
  };
}

export function connectTo(baseUrl: string, options: Partial<ConnectOptions> = {}): Promise<Server> {
  return connect({
    baseUrl,
    key: 'app-key-0123456789',
    local: false,
    env: {},
    clock: quickClock(),
    signal: new AbortController().signal,
    mode: 'live',
    ...options,
  });
}
