import { describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/bulk.ts';
import { useConvWorld } from '../conv/conv-world.ts';
import { json } from '../conv/support.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const { conv, ended } = useConvWorld({ api, spec: 'process' });

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
  const { conv } = useConvWorld({ api: 'v1', spec: 'process' });

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
