import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/options.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import { endedRun, json } from '../conv/support.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
  const ended = () => endedRun(world);

  describe('conv delete', () => {
    it('deletes several, and lists those that failed', async () => {
      const id = await ended();
      const many = await conv('delete', id, 'f'.repeat(32), '-y', '--json');
      expect(many.code).toBe(1);
      expect(json<BulkResult>(many)).toMatchObject({ matched: 2, failed: 1 });
    });
  });
});

describe('conversation changes', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());
  const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);

  it('by selector exit 0 when nothing matches', async () => {
    const none = await conv('delete', '--status', 'stuck', '-y', '--json');
    expect(none.code).toBe(0);
    expect(json(none)).toEqual({ items: [], matched: 0, failed: 0 });
  });

  it('exits 2 without ids and selectors, and with both', async () => {
    expect((await conv('delete', '-y')).code).toBe(2);
    expect((await conv('stop')).code).toBe(2);
    expect((await conv('delete', '@last', '--all', '-y')).code).toBe(2);
  });
});
