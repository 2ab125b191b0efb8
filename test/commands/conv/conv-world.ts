/** Conversations of a real service, without a proxy. */
import { afterAll, beforeAll } from 'vitest';
import { createWorld, type Ended, type World, type WorldOptions } from '../../support/world.ts';
import { endedRun, json, type ConversationJson } from './support.ts';

export interface ConvWorld {
  /** Set while tests run. */
  readonly world: World;
  /** Runs a verb of `conv`. */
  conv: (...args: string[]) => Promise<Ended>;
  show: (word: string) => Promise<ConversationJson>;
  /** The id of a new run, after its end. */
  ended: () => Promise<string>;
}

/** A world for the enclosing suite. */
export function useConvWorld(options: WorldOptions): ConvWorld {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(options);
  });
  afterAll(() => world.close());
  const conv = (...args: string[]) => world.acs('conv', ...args);
  return {
    get world() {
      return world;
    },
    conv,
    show: async (word) => json(await conv('show', word, '--json')),
    ended: () => endedRun(world),
  };
}

export interface FirstRun extends Pick<ConvWorld, 'world' | 'conv' | 'show'> {
  /** Id of a run with the title "The first" that has ended. */
  readonly first: string;
}

/** A world for the enclosing suite, with a run that has ended. */
export function useFirstRun(): FirstRun {
  const at = useConvWorld({ spec: 'process' });
  let first: string;
  beforeAll(async () => {
    first = await endedRun(at.world, '--title', 'The first', '--id', `aaaa${'1'.repeat(28)}`);
  });
  return {
    get world() {
      return at.world;
    },
    get first() {
      return first;
    },
    conv: at.conv,
    show: at.show,
  };
}

export interface TwoRuns extends FirstRun {
  /** Id of a later run, with a title of two lines, that has ended. */
  readonly second: string;
}

/** A world for the enclosing suite, with two runs that have ended. */
export function useTwoRuns(): TwoRuns {
  const at = useFirstRun();
  let second: string;
  beforeAll(async () => {
    second = await endedRun(at.world, '--title', 'The second\nof two', '--id', `aaaa${'2'.repeat(28)}`);
  });
  return {
    get world() {
      return at.world;
    },
    get first() {
      return at.first;
    },
    get second() {
      return second;
    },
    conv: at.conv,
    show: at.show,
  };
}
