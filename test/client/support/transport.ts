/** The transport to a server of the test, on a quick clock; both are made anew for each test. */
import { afterEach, beforeEach } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import type { Call } from '../../../src/client/http/call.ts';
import { Network } from '../../../src/client/http/network.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import { Pace } from '../../../src/client/http/time-limits.ts';
import { Transport, type TransportOptions } from '../../../src/client/http/transport.ts';
import { startFake, type FakeServer } from '../../support/server.ts';
import { KEY } from '../../support/use-world.ts';
import { quickClock } from './connect.ts';

/** A port without a listener that the system does not assign. */
export const NOBODY = '127.0.0.1:1';
export const READ: Call = { method: 'GET', path: '/', safe: 'read' };
export const ONCE: Call = { method: 'POST', path: '/', safe: 'once' };

export interface Transports {
  /** It answers `{"ok":true}` until the test sets another answer. */
  readonly fake: FakeServer;
  readonly clock: ReturnType<typeof quickClock>;
  /** A transport to that server with its key. */
  transport(options?: Partial<TransportOptions>): Transport;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function useTransports(): Transports {
  let fake: FakeServer;
  let network: Network;
  let clock: ReturnType<typeof quickClock>;
  beforeEach(async () => {
    fake = await startFake(() => ({ json: { ok: true } }));
    network = new Network({ env: {}, connectTimeoutMs: 5_000, redaction: new Redaction([KEY]) });
    clock = quickClock();
  });
  afterEach(async () => {
    network.close();
    await fake.close();
  });
  return {
    get fake() {
      return fake;
    },
    get clock() {
      return clock;
    },
    transport: (options = {}) =>
      new Transport({
        network,
        baseUrl: fake.url,
        headers: { 'x-session-api-key': KEY },
        pace: new Pace(() => null, clock),
        clock,
        signal: new AbortController().signal,
        mode: 'live',
        refused: ({ status, request }) =>
          Promise.resolve(new AppError('auth', `refused ${status}`, { status, request })),
        ...options,
      }),
  };
}
