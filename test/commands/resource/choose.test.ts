import { beforeEach, describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/options.ts';
import { useProxiedWorld } from '../../support/proxied-world.ts';
import type { Ended } from '../../support/world.ts';
import { type SandboxJson, startSandbox } from '../sandbox/support.ts';

const one = ({ out }: Ended): SandboxJson => JSON.parse(out) as SandboxJson;
const many = ({ out }: Ended): BulkResult => JSON.parse(out) as BulkResult;

describe('sandbox changes', () => {
  const at = useProxiedWorld('sandbox', { api: 'v1', spec: 'process' });
  beforeEach(async () => {
    await at.world.acs('sandbox', 'delete', '--all', '-y', '--force');
    at.proxy.requests.length = 0;
  });
  const acs = at.acs;
  const writes = at.writes;
  const status = async (id: string): Promise<string> => one(await at.world.acs('sandbox', 'show', id, '--json')).status;

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
