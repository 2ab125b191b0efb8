import { describe, expect, it } from 'vitest';
import { useConvWorld } from './conv-world.ts';
import { json } from './support.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const { conv, show, ended } = useConvWorld({ api, spec: 'process' });

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
