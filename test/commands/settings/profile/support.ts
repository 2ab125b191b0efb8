/** The settings profiles of a real service. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createWorld, type Ended, type World } from '../../../support/world.ts';

/** What the file `key.txt` of the world holds. */
export const KEY = 'model-key-0815-4711';

export interface ProfileJson {
  name: string;
  model: string | null;
  base_url: string | null;
  api_key_set: boolean;
  active: boolean;
  changed?: boolean;
}

export function json<T = ProfileJson>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

export interface ProfileWorld {
  /** Set while tests run. */
  readonly world: World;
  /** Runs a verb of `settings profile`. */
  profile: (...args: string[]) => Promise<Ended>;
  all: () => Promise<ProfileJson[]>;
  /** The model of the current settings. */
  model: () => Promise<string>;
}

/** A world for the enclosing suite, without a profile at the start of each test. */
export function useProfiles(api: 'v1' | 'both'): ProfileWorld {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
    await writeFile(path.join(world.dir, 'key.txt'), `${KEY}\n`);
  });
  afterAll(() => world.close());
  afterEach(async () => {
    for (const { name } of await all()) await profile('delete', name, '-y');
  });

  const profile = (...args: string[]) => world.acs('settings', 'profile', ...args);
  const all = async () => json<{ items: ProfileJson[] }>(await profile('list', '--json')).items;
  return {
    get world() {
      return world;
    },
    profile,
    all,
    model: async () => json<{ llm_model: string }>(await world.acs('settings', 'get', '--json')).llm_model,
  };
}
