import { describe, expect, it } from 'vitest';
import { createWorld } from '../../../support/world.ts';
import { useProfiles } from './support.ts';

describe.each(['v1', 'both'] as const)('settings profile over %s', (api) => {
  const { profile } = useProfiles(api);

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
