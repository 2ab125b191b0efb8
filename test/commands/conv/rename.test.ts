import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import { endedRun, json } from './support.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
  const show = async (word: string) => json(await conv('show', word, '--json'));
  const ended = () => endedRun(world);

  describe('conv rename', () => {
    it('changes the title, and reports no change for the same title', async () => {
      const id = await ended();
      expect(json(await conv('rename', id, 'Another', '--json'))).toMatchObject({ title: 'Another', changed: true });
      expect(json(await conv('rename', id, 'Another', '--json'))).toMatchObject({ changed: false });
      expect((await conv('rename', id, ' ')).code).toBe(2);
      expect((await conv('rename', id, 'x'.repeat(201))).code).toBe(2);
      expect((await show(id)).title).toBe('Another');
    });
  });
});
