/** The questions of `conv new` on a terminal, in a world in which a model is set. */
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';
import { runWizard, type Asked } from './on-terminal.ts';
import { makeRepository } from './support.ts';

export interface WizardWorld {
  /** Set while tests run. */
  readonly world: World;
  /** A checkout of the world. */
  readonly repository: string;
  /** Runs `conv new` on a terminal, against `at` or else the world; each question gets the next of `answers`. */
  onTerminal: (
    cwd: string,
    args: string[],
    answers: (string | boolean)[],
    at?: Pick<World, 'env' | 'home'>,
  ) => Promise<Asked>;
}

export function useWizardWorld(): WizardWorld {
  let world: World;
  let repository: string;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
    // The wizard asks for a message, and a message needs a model: it must be set, and is not called.
    for (const setting of ['llm_model=openai/none', 'llm_base_url=http://127.0.0.1:9/v1'])
      await world.acs('settings', 'set', setting);
    repository = await makeRepository(path.join(world.dir, 'repository'));
  });
  afterAll(() => world.close());
  return {
    get world() {
      return world;
    },
    get repository() {
      return repository;
    },
    onTerminal: (cwd, args, answers, at = world) => runWizard(at, cwd, args, answers),
  };
}
