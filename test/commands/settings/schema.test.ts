import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  const acs = at.acs;

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
