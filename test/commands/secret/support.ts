/** The secrets of a real service. */
import { afterAll, beforeAll } from 'vitest';
import { createWorld, type Ended, type World, type WorldOptions } from '../../support/world.ts';

export const VALUE = 'value-of-a-secret-4711';

export function json<T>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

export interface SecretWorld {
  /** Set while tests run. */
  readonly world: World;
  /** Runs a verb of `secret`. */
  secret: (...args: string[]) => Promise<Ended>;
  /** Sets a secret to a value from stdin. */
  fromStdin: (name: string, value: string, ...flags: string[]) => Promise<Ended>;
  /** The names of all secrets. */
  all: () => Promise<string[]>;
}

export function useSecrets(api: NonNullable<WorldOptions['api']>): SecretWorld {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const secret = (...args: string[]) => world.acs('secret', ...args);
  return {
    get world() {
      return world;
    },
    secret,
    fromStdin: (name, value, ...flags) => world.invoke({ args: ['secret', 'set', name, '-', ...flags], stdin: value }),
    all: async () =>
      json<{ items: { name: string }[] }>(await secret('list', '--all-pages', '--json')).items.map(({ name }) => name),
  };
}
