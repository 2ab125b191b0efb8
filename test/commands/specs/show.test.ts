import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';

describe('specs', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());

  it('show prints one spec, and exits 5 for an unknown one', async () => {
    const { code, out } = await world.acs('specs', 'show', 'process', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: 'process', default: true, working_dir: '.' });
    expect((await world.acs('specs', 'view', 'nowhere')).code).toBe(5);
  });
});
