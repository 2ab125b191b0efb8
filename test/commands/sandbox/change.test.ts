import { describe, expect, it } from 'vitest';
import { startSandbox, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;
  const writes = at.writes;

  describe('of one sandbox', () => {
    it('--dry-run prints the requests and sends nothing', async () => {
      const id = await startSandbox(at.world);
      for (const [args, expected] of [
        [['pause', id], [`POST /api/v1/sandboxes/${id}/pause`]],
        [['delete', id], [`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]],
        [['resume', id], []],
        [['delete', '--all'], [`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]],
      ] as const) {
        const { code, out } = await acs(...args, '--dry-run', '--json');
        const plan = JSON.parse(out) as { dry_run: boolean; requests: { method: string; url: string }[] };
        const requests = plan.requests.map(({ method, url }) => `${method} ${url.slice(at.proxy.url.length)}`);
        expect({ code, dry_run: plan.dry_run, requests }).toEqual({ code: 0, dry_run: true, requests: expected });
      }
      expect(writes()).toEqual([]);
    });
  });

  describe('several', () => {
    it('exits 2 for --wait-timeout with --no-wait', async () => {
      for (const args of [
        ['start'],
        ['start', 'abcd'],
        ['pause', 'abcd'],
        ['resume', '--all'],
        ['delete', 'abcd', '-y'],
      ]) {
        for (const limit of ['--wait-timeout', '--timeout']) {
          const { code, err } = await acs(...args, '--no-wait', limit, '1m');
          expect({ code, err }).toEqual({
            code: 2,
            err: expect.stringContaining(`${limit} and --no-wait exclude`) as string,
          });
        }
      }
      expect(at.proxy.requests).toEqual([]);
    });
  });
});
