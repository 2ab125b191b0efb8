/** The transport to a fake server, on a quick clock; both are made anew for each test. */
import { afterEach, beforeEach } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { TransportOptions } from '../../../src/servers/transport/call.ts';
import { createNetwork, type Network } from '../../../src/servers/transport/network.ts';
import { createPace } from '../../../src/servers/transport/pace.ts';
import { createRedaction } from '../../../src/servers/transport/redaction.ts';
import { createTransport, type Transport } from '../../../src/servers/transport/transport.ts';
import { quickClock } from './connect.ts';
import { startFake, type FakeServer } from './fake-server.ts';
import { KEY } from './v1-world.ts';

/** A port without a listener that the system does not assign. */
export const NOBODY = '127.0.0.1:1';

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
    network = createNetwork({ env: {}, connectTimeoutMs: 5_000, redaction: createRedaction([KEY]) });
    clock = quickClock();
  });
  afterEach(async () => {
    await network.close();
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
      createTransport({
        network,
        baseUrl: fake.url,
        headers: { 'x-session-api-key': KEY },
        pace: createPace(() => null, clock),
        clock,
        signal: new AbortController().signal,
        mode: 'live',
        refused: (answer, details) => Promise.resolve(new AppError('auth', `refused ${answer.status}`, details)),
        ...options,
      }),
  };
}
