import { describe, expect, it } from 'vitest';
import { one, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;
  const writes = at.writes;

  describe('of one sandbox', () => {
    it('start creates a sandbox from a spec and waits until it runs', async () => {
      const ended = await acs('start', '--spec', 'process', '--json');
      expect(ended.code).toBe(0);
      expect(one(ended)).toMatchObject({ status: 'running', changed: true });
      expect(writes()).toEqual(['POST /api/v1/sandboxes?sandbox_spec_id=process']);
      expect(at.proxy.writes()[0]?.body).toBeNull();
    });

    it('start --no-wait prints the id at once', async () => {
      const { code, out } = await acs('start', '--no-wait', '-q');
      expect(code).toBe(0);
      expect((await acs('wait', out.trim(), '--json')).code).toBe(0);
    });

    it('start exits 5 for a spec that does not exist, and sends nothing', async () => {
      expect((await acs('start', '--spec', 'nowhere')).code).toBe(5);
      expect(writes()).toEqual([]);
    });
  });
});
