/** A connection as wire.ts makes it, to a fake server. */
import { connect, type Clock, type ConnectOptions } from '../../../src/servers/index.ts';
import type { Server } from '../../../src/servers/server.ts';

/** Time-outs are long; a busy machine must be able to answer before one is over. */
const TIMEOUT_MS = 10_000;

/** Real time, but waits are over at once: nothing in a test depends on how long they were. */
export function quickClock(): Clock & { waited: number[] } {
  const waited: number[] = [];
  let aheadMs = 0;
  return {
    waited,
    now: () => Date.now() + aheadMs,
    sleep(ms, signal) {
      signal?.throwIfAborted();
      waited.push(ms);
      return new Promise((resolve, reject) => {
        const aborted = (): void => {
          clearTimeout(timer);
          reject(signal?.reason as Error);
        };
        const timer = setTimeout(
          () => {
            signal?.removeEventListener('abort', aborted);
            aheadMs += ms;
            resolve();
          },
          ms < TIMEOUT_MS ? Math.min(ms, 5) : ms / 100,
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
