/** A V0 server that a test moves by hand, and the port connected to it; both are made anew for each test. */
import { afterEach, beforeEach } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { createV0Server, older, type V0Server } from '../../traps/support/v0.ts';
import { connectTo } from './connect.ts';
import { startFake, type FakeServer } from './fake-server.ts';

export { older, V0_ID as ID } from '../../traps/support/v0.ts';

export interface ConnectedV0 {
  /** It has the recorded events and the recorded list at first. */
  readonly world: V0Server;
  readonly fake: FakeServer;
  readonly server: Server;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function connectedV0(): ConnectedV0 {
  let world: V0Server;
  let fake: FakeServer;
  let server: Server;
  beforeEach(async () => {
    world = createV0Server();
    world.events = (older.body('v0.events') as { events: Record<string, unknown>[] }).events;
    world.listed = (older.body('v0.many.list') as { results: Record<string, unknown>[] }).results;
    fake = await startFake(world.handler);
    server = await connectTo(fake.url);
    fake.asked.length = 0;
  });
  afterEach(async () => {
    await server.close();
    await fake.close();
  });
  return {
    get world() {
      return world;
    },
    get fake() {
      return fake;
    },
    get server() {
      return server;
    },
  };
}

export const stateChanged = (id: number, agent_state: string): Record<string, unknown> => ({
  id,
  timestamp: '2026-11-21T10:30:00',
  source: 'environment',
  observation: 'agent_state_changed',
  extras: { agent_state, reason: '' },
});
