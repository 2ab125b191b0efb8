import { afterAll, beforeAll, beforeEach } from 'vitest';
import { recordingProxy, type RecordingProxy } from './recording-proxy.ts';
import { createWorld, type Ended, type World, type WorldOptions } from './world.ts';

export interface ProxiedWorld {
  /** Set while tests run. */
  readonly world: World;
  /** Records the requests of `acs`. */
  readonly proxy: RecordingProxy;
  /** Runs a verb of the noun against the service, through the proxy. */
  acs: (...args: string[]) => Promise<Ended>;
  /** Method and path of each request that is no read. */
  writes: () => string[];
}

/** A world for the enclosing suite, and a recording proxy of its service; both are closed after the suite. */
export function useWorldAndProxy(options: WorldOptions): Pick<ProxiedWorld, 'world' | 'proxy'> {
  let world: World;
  let proxy: RecordingProxy;
  beforeAll(async () => {
    world = await createWorld(options);
    proxy = await recordingProxy(world.service.url);
  });
  afterAll(async () => {
    await proxy.close();
    await world.close();
  });
  return {
    get world() {
      return world;
    },
    get proxy() {
      return proxy;
    },
  };
}

/**
 * A world for the enclosing suite, closed after it, whose commands of one noun go through a recording proxy. The requests
 * are empty at the start of each test.
 */
export function useProxiedWorld(noun: string, options: WorldOptions): ProxiedWorld {
  const at = useWorldAndProxy(options);
  beforeEach(() => {
    at.proxy.requests.length = 0;
  });
  return Object.assign(at, {
    acs: (...args: string[]) => at.world.invoke({ args: [noun, ...args], env: { ACS_BASE_URL: at.proxy.url } }),
    writes: () => at.proxy.writes().map(({ method, path }) => `${method} ${path}`),
  });
}
