/** A connection as wire.ts makes it, to a fake server. */
import { connect } from '../../../src/client/connect.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import type { ConnectOptions } from '../../../src/client/probe.ts';
import { TestClock } from '../../support/test-clock.ts';

/**
 * Pauses are over at once, and the time moves on by them alone: results depend neither on them nor
 * on the machine.
 */
export function quickClock(): TestClock {
  return new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
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
