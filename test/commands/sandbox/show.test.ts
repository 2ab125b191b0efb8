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

  describe('of one sandbox', () => {
    it('show prints the session key only with --show-secrets', async () => {
      const id = await startSandbox(at.world);
      const key = one(await acs('show', id, '--show-secrets', '--json')).session_api_key ?? '';
      expect(key.length).toBeGreaterThan(20);
      for (const args of [
        ['show', id],
        ['list', '--json'],
        ['show', id, '--json', '--debug'],
        ['pause', id, '--debug', '--json'],
      ]) {
        const { out, err } = await acs(...args);
        expect(out + err).not.toContain(key);
      }
    });
  });
});
