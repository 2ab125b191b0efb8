import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';
import { record, useOddServer } from './odd-server.ts';
import { one, startSandbox, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;

  describe('of one sandbox', () => {
    it('show takes a unique prefix and a URL, and exits 2 for an ambiguous or malformed one', async () => {
      const id = await startSandbox(at.world);
      expect(one(await acs('show', id.slice(0, 8), '--json')).id).toBe(id);
      expect(one(await acs('show', `https://acs.example.org/sandboxes/${id}?tab=files`, '--json')).id).toBe(id);
      expect((await acs('show', id.slice(0, 3))).code).toBe(2);
      expect((await acs('show', 'not/an id')).code).toBe(2);
      expect((await acs('show', 'zzzzzzzz')).code).toBe(5);
      expect((await acs('show', '@last')).code).toBe(5);
    });
  });
});

describe('sandbox commands at a server with unusual answers', () => {
  const server = useOddServer();

  it('name the candidates of an ambiguous prefix', async () => {
    server.sandboxes = [record('sandbox-a'), record('sandbox-b')];
    const { code, err } = await server.acs('pause', 'sandbox', '--json');
    expect(code).toBe(2);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage', candidates: ['sandbox-a', 'sandbox-b'] } });
    expect(server.fake.lines().some((line) => line.startsWith('POST'))).toBe(false);
  });
});

describe('sandbox commands at a server of V0 alone', () => {
  const at = useProxiedWorld('sandbox', { api: 'v0' });

  it('exit 12, for @last too', async () => {
    const start = ['conv', 'new', '--no-repo', '--replay', 'demo', '--wait'];
    const started = await at.world.invoke({ args: start, env: { ACS_BASE_URL: at.proxy.url } });
    expect(started.code, started.err).toBe(0);
    at.proxy.requests.length = 0;
    for (const args of [
      ['show', '@last'],
      ['show', 'abcd1234'],
      ['pause', '@last'],
      ['exec', '@last', '--', 'true'],
      ['cp', '@last:a.txt', '-'],
    ]) {
      const { code, err } = await at.acs(...args);
      expect({ args, code, requests: at.writes() }).toEqual({ args, code: 12, requests: [] });
      expect(err).toContain('this server speaks V0 only, which has no sandboxes');
    }
  });
});
