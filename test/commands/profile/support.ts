/** A machine on which only the profiles of one test are configured, and a local service. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createWorld, type Ended, type Invocation, type World } from '../../support/world.ts';

interface StoredProfiles {
  default: string | null;
  profiles: Record<string, Record<string, unknown>>;
}

export interface Machine {
  /** Set while tests run. */
  readonly world: World;
  /** Another folder for each test; made by the first command that stores a profile. */
  readonly configDir: string;
  acs: (args: string[], rest?: Partial<Invocation>) => Promise<Ended>;
  store: () => string;
  stored: () => StoredProfiles;
  /** Stores a profile without a request to its server. */
  bare: (name: string, url?: string) => Promise<Ended>;
}

export function useMachine(): Machine {
  let world: World;
  let configDir = '';
  let count = 0;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());
  beforeEach(() => {
    count += 1;
    configDir = path.join(world.dir, `config-${count}`);
  });

  const acs: Machine['acs'] = (args, rest = {}) => {
    const env = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_CONFIG_DIR: configDir, ...rest.env };
    return world.invoke({ args, ...rest, env });
  };
  const store = () => path.join(configDir, 'profiles.json');
  return {
    get world() {
      return world;
    },
    get configDir() {
      return configDir;
    },
    acs,
    store,
    stored: () => JSON.parse(readFileSync(store(), 'utf8')) as StoredProfiles,
    bare: (name, url = `https://${name}.example`) => acs(['profile', 'add', name, '--base-url', url, '--no-check']),
  };
}
