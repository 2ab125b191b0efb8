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

  describe('of one sandbox', () => {
    it('pause and resume change the status once, and report no change the second time', async () => {
      const id = await startSandbox(at.world);
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: true });
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: false });
      expect(one(await acs('resume', id, '--json'))).toMatchObject({ id, status: 'running', changed: true });
      expect(one(await acs('start', id, '--json'))).toMatchObject({ id, status: 'running', changed: false });
      expect(writes()).toEqual([`POST /api/v1/sandboxes/${id}/pause`, `POST /api/v1/sandboxes/${id}/resume`]);
    });
  });
});
