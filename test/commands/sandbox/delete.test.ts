import { beforeEach, describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';
import type { Ended } from '../../support/world.ts';
import { type SandboxJson, startSandbox } from './support.ts';

const one = ({ out }: Ended): SandboxJson => JSON.parse(out) as SandboxJson;

describe('sandbox changes', () => {
  const at = useProxiedWorld('sandbox', { api: 'v1', spec: 'process' });
  beforeEach(async () => {
    await at.world.acs('sandbox', 'delete', '--all', '-y', '--force');
    at.proxy.requests.length = 0;
  });
  const acs = at.acs;
  const writes = at.writes;
  const status = async (id: string): Promise<string> => one(await at.world.acs('sandbox', 'show', id, '--json')).status;

  describe('of one sandbox', () => {
    it('delete sends the same id in path and query', async () => {
      const id = await startSandbox(at.world);
      const ended = await acs('delete', id, '-y', '--json');
      expect(ended.code).toBe(0);
      expect(one(ended)).toMatchObject({ id, status: 'missing', changed: true });
      expect(ended.err).toContain(`sandbox ${id} (running), conversations: none`);
      expect(writes()).toEqual([`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]);
      expect((await acs('delete', id, '-y')).code).toBe(5);
      expect(one(await acs('delete', id, '-y', '--ignore-not-found', '--json'))).toMatchObject({ id, changed: false });
    });

    it('delete exits 2 without --yes off a terminal', async () => {
      const id = await startSandbox(at.world);
      const { code, err } = await acs('delete', id);
      expect(code).toBe(2);
      expect(err).toContain('add -y');
      expect(writes()).toEqual([]);
    });

    it('delete asks on a terminal', async () => {
      const id = await startSandbox(at.world);
      const answer = (stdin: string) => at.world.invoke({ args: ['sandbox', 'delete', id], columns: 100, stdin });
      expect(await answer('n\n')).toMatchObject({ code: 2, out: '' });
      expect(await status(id)).toBe('running');
      expect((await answer('y\n')).code).toBe(0);
      expect((await at.world.acs('sandbox', 'show', id)).code).toBe(5);
    });
  });
});
