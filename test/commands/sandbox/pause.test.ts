import { beforeEach, describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';
import type { Ended } from '../../support/world.ts';
import { type SandboxJson, startSandbox } from './support.ts';

const one = ({ out }: Ended): SandboxJson => JSON.parse(out) as SandboxJson;

describe('changing sandboxes', () => {
  const at = useProxiedWorld('sandbox', { api: 'v1', spec: 'process' });
  beforeEach(async () => {
    await at.world.acs('sandbox', 'delete', '--all', '-y', '--force');
    at.proxy.requests.length = 0;
  });
  const acs = at.acs;
  const writes = at.writes;

  describe('one, by its id', () => {
    it('pauses and resumes, and does nothing the second time', async () => {
      const id = await startSandbox(at.world);
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: true });
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: false });
      expect(one(await acs('resume', id, '--json'))).toMatchObject({ id, status: 'running', changed: true });
      expect(one(await acs('start', id, '--json'))).toMatchObject({ id, status: 'running', changed: false });
      expect(writes()).toEqual([`POST /api/v1/sandboxes/${id}/pause`, `POST /api/v1/sandboxes/${id}/resume`]);
    });
  });
});
