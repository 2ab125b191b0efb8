import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  const acs = at.acs;

  it('unset resets a setting, and reports no change the second time', async () => {
    await acs('set', 'llm_base_url=https://models.example.org/v1');
    const first = await acs('unset', 'llm_base_url', '--json');
    expect(JSON.parse(first.out)).toMatchObject({ llm_base_url: null, changed: true });
    at.proxy.requests.length = 0;
    const second = await acs('unset', 'llm_base_url', '--json');
    expect(JSON.parse(second.out)).toMatchObject({ llm_base_url: null, changed: false });
    expect(at.proxy.writes()).toEqual([]);
  });

  it('lists the fields that can be set', async () => {
    const { out } = await acs('schema', 'max_iterations', 'llm_api_key', '--json');
    const { items, has_more } = JSON.parse(out) as { items: Record<string, unknown>[]; has_more: boolean };
    expect(has_more).toBe(false);
    expect(items.map(({ name, type, secret, minimum }) => ({ name, type, secret, minimum }))).toEqual([
      { name: 'max_iterations', type: 'integer', secret: false, minimum: 1 },
      { name: 'llm_api_key', type: 'string', secret: true, minimum: null },
    ]);
    expect((await acs('schema', '-q')).out).toMatch(/^language\nagent\nmax_iterations\n/);
  });
});
