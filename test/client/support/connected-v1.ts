/**
 * A V1 server that a test moves by hand, and the port connected to it; both are made anew for each
 * test.
 */
import { afterEach, beforeEach } from 'vitest';
import type { ConnectOptions } from '../../../src/client/probe.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import { connectTo } from './connect.ts';
import type { Asked, Reply } from '../../support/server.ts';
import { createV1World, type V1World } from './v1-world.ts';

export interface ConnectedV1 {
  readonly world: V1World;
  readonly server: Server;
  /** Closes the connection and makes another one. */
  reconnect(options: Partial<ConnectOptions>): Promise<void>;
  /** Answers these routes, leaves the others alone. */
  on(routes: Record<string, (asked: Asked) => Reply | null>): void;
}

/**
 * Call it at the top of a test file, which it gives its hooks. The options are read before each
 * test.
 */
export function connectedV1(options: () => Partial<ConnectOptions> = () => ({})): ConnectedV1 {
  let world: V1World;
  let server: Server;
  beforeEach(async () => {
    world = await createV1World();
    server = await connectTo(world.fake.url, options());
    world.fake.asked.length = 0;
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });
  return {
    get world() {
      return world;
    },
    get server() {
      return server;
    },
    async reconnect(changed) {
      await server.close();
      server = await connectTo(world.fake.url, changed);
    },
    on(routes) {
      world.before = (asked) => routes[`${asked.method} ${asked.path}`]?.(asked) ?? null;
    },
  };
}
