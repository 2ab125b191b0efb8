import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  const acs = at.acs;

  it('prints a line of name and value for each in a pipe, and only the value of a single named one', async () => {
    await acs('set', 'max_iterations=7', 'language=de');
    const all = (await acs('get')).out.split('\n').slice(0, -1);
    expect(all.length).toBeGreaterThan(10);
    expect(all.every((line) => line.split('\t').length === 2)).toBe(true);
    expect(all).toContain('max_iterations\t7');
    expect((await acs('get', 'max_iterations')).out).toBe('7\n');
  });

  it('prints the value alone for scripts', async () => {
    await acs('set', 'max_iterations=11', 'language=de');
    expect(await acs('get', 'max_iterations')).toMatchObject({ code: 0, out: '11\n' });
    expect(await acs('get', 'language', 'max_iterations')).toMatchObject({ out: 'language\tde\nmax_iterations\t11\n' });
    expect(JSON.parse((await acs('get', 'max_iterations', '--json')).out)).toEqual({ max_iterations: 11 });
    expect(await acs('get', 'max_iterations', '--format', 'ndjson')).toMatchObject({ out: '{"max_iterations":11}\n' });
    expect((await acs('get', '-q')).code).toBe(2);
  });

  it('prints rows of name and value on a terminal', async () => {
    await acs('set', 'max_iterations=11');
    const { out } = await at.world.invoke({
      args: ['settings', 'get', 'max_iterations', 'language', '--no-color'],
      columns: 100,
    });
    expect(out).toBe('NAME            VALUE\nmax_iterations  11\nlanguage        de\n');
  });
});
