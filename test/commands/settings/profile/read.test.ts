import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../../support/world.ts';

const KEY = 'model-key-0815-4711';

interface ProfileJson {
  name: string;
  model: string | null;
  base_url: string | null;
  api_key_set: boolean;
  active: boolean;
  changed?: boolean;
}

function json<T = ProfileJson>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

describe.each(['v1', 'both'] as const)('settings profile over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
    await writeFile(path.join(world.dir, 'key.txt'), `${KEY}\n`);
  });
  afterAll(() => world.close());
  afterEach(async () => {
    for (const { name } of await all()) await profile('delete', name, '-y');
  });

  const profile = (...args: string[]): Promise<Ended> => world.acs('settings', 'profile', ...args);
  const all = async () => json<{ items: ProfileJson[] }>(await profile('list', '--json')).items;

  it('exits 5 for an unknown profile', async () => {
    for (const args of [
      ['show', 'nobody'],
      ['use', 'nobody'],
      ['rename', 'nobody', 'somebody'],
    ])
      expect((await profile(...args)).code).toBe(5);
  });
});

describe('settings profile over v0', () => {
  it('exits 12 and names the dialect that has it', async () => {
    const world = await createWorld({ api: 'v0', spec: 'process' });
    try {
      for (const args of [
        ['list'],
        ['show', 'x'],
        ['save', 'x'],
        ['use', 'x'],
        ['rename', 'x', 'y'],
        ['delete', 'x', '-y'],
      ]) {
        const { code, err } = await world.acs('settings', 'profile', ...args);
        expect(code).toBe(12);
        expect(err).toContain('V1');
      }
    } finally {
      await world.close();
    }
  });
});
