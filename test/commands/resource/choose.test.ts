import { describe, expect, it } from 'vitest';
import { many, startSandbox, useSandboxWorld } from '../sandbox/support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;
  const writes = at.writes;
  const status = at.status;

  describe('several', () => {
    it('selects over all pages', async () => {
      const [a, b] = [await startSandbox(at.world), await startSandbox(at.world)];
      await acs('pause', a);
      const ended = await acs('delete', '--status', 'paused', '-y', '--json');
      expect(ended.code).toBe(0);
      expect(many(ended)).toEqual({
        items: [{ id: a, ok: true, changed: true, before: 'paused', after: null, error: null }],
        matched: 1,
        failed: 0,
      });
      expect(await status(b)).toBe('running');
    });

    it('exits 0 without a question when nothing matches', async () => {
      const ended = await acs('pause', '--status', 'error', '--json');
      expect({ code: ended.code, result: many(ended) }).toEqual({
        code: 0,
        result: { items: [], matched: 0, failed: 0 },
      });
    });

    it('exits 2 without --yes for a change by selector', async () => {
      await startSandbox(at.world);
      expect((await acs('pause', '--all')).code).toBe(2);
      expect((await acs('resume', '--status', 'running')).code).toBe(2);
      expect(writes()).toEqual([]);
      expect((await acs('pause', '--all', '-y')).code).toBe(0);
    });

    it('exits 2 without ids and selectors, and with both', async () => {
      for (const args of [
        ['pause'],
        ['delete', '-y'],
        ['pause', 'abcd', '--all'],
        ['delete', 'abcd', '--idle', '1h', '-y'],
      ]) {
        expect((await acs(...args)).code).toBe(2);
      }
      expect(at.proxy.requests).toEqual([]);
    });
  });
});
