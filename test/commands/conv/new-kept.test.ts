import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';
import { runWizard, type Asked } from './on-terminal.ts';
import { makeRepository } from './support.ts';

let world: World;
let repository: string;

beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
  // The wizard asks for a message, and a message needs a model: this one only has to be set, nobody reaches it.
  for (const setting of ['llm_model=openai/none', 'llm_base_url=http://127.0.0.1:9/v1'])
    await world.acs('settings', 'set', setting);
  repository = await makeRepository(path.join(world.dir, 'repository'));
});
afterAll(() => world.close());

/** Runs `conv new` on a terminal; each question gets the next of `answers`. */
function onTerminal(
  cwd: string,
  args: string[],
  answers: (string | boolean)[],
  at: Pick<World, 'env' | 'home'> = world,
): Promise<Asked> {
  return runWizard(at, cwd, args, answers);
}

describe('conv new without a message, on a terminal', () => {
  it('stores a typed message in a file that the error names when the start fails or is refused', async () => {
    for (const [last, code] of [
      [true, 12], // the local service runs no agent with a model
      [false, 2],
    ] as const) {
      const asked = await onTerminal(repository, ['--spec', 'process'], ['none', 'Do it all', last]);
      expect(asked.code, asked.err).toBe(code);
      const file = /new\s+--file\s+(\S+)/.exec(asked.err)?.[1] ?? '';
      expect(await readFile(file, 'utf8'), asked.err).toBe('Do it all\n');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await rm(path.dirname(file), { recursive: true });
    }
  });
});
