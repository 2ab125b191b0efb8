import { describe, expect, it } from 'vitest';
import { one, startSandbox, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;

  describe('of one sandbox', () => {
    it('start with an id resumes the sandbox', async () => {
      const id = await startSandbox(at.world);
      await acs('pause', id);
      const started = one(await acs('start', id, '--json'));
      expect(started).toMatchObject({ status: 'running', changed: true });
      const other = started.spec_id === 'process' ? 'bubblewrap' : 'process';
      expect(one(await acs('start', id, '--spec', started.spec_id, '--json'))).toMatchObject({
        changed: false,
      });
      expect((await acs('start', id, '--spec', other)).code).toBe(6);
    });

    it('start with an id and --spec sends the spec with the request to resume', async () => {
      const id = await startSandbox(at.world);
      await acs('pause', id);
      at.proxy.requests.length = 0;
      expect((await acs('start', id, '--spec', 'process')).code).toBe(0);
      expect(at.proxy.writes().map(({ path }) => path)).toEqual([
        `/api/v1/sandboxes/${id}/resume?sandbox_spec_id=process`,
      ]);
    });
  });
});
