import { describe, expect, it } from 'vitest';
import { DIALECTS, useSettings } from './support.ts';

describe.each(DIALECTS)('settings on a server that speaks $api', ({ api, route }) => {
  const at = useSettings(api);
  const { acs, settings, file } = at;

  it('replaces a mask by the stored value, or refuses the write', async () => {
    const config = { shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: 'http-hush', timeout: 30 }] };
    await acs('set', `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`);
    const masked = { shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: '<redacted>', timeout: 60 }] };
    const word = `mcp_config=@${await file('masked.json', JSON.stringify(masked))}`;
    at.proxy.requests.length = 0;
    const { code, err } = await acs('set', word);
    if (api === 'v0') {
      // V0 returns the key in clear, so it can be sent back.
      expect(code).toBe(0);
      expect(JSON.stringify(at.proxy.writes()[0]?.body)).toContain('http-hush');
    } else {
      expect({ code, named: err.includes('the key of https://two.example.org/mcp') }).toEqual({ code: 6, named: true });
      expect(at.proxy.writes()).toEqual([]);
      expect((await acs('set', word, '-y')).code).toBe(6);
      expect((await acs('set', word, '--allow-loss')).code).toBe(0);
    }
    expect(JSON.stringify(at.proxy.writes())).not.toContain('redacted');
    await acs('unset', 'mcp_config');
  });

  it('prints the difference before the write, also of a write that fails', async () => {
    await acs('set', 'language=it');
    at.proxy.answer = ({ method }) => (method === 'GET' ? null : { status: 403 });
    const failed = await acs('set', 'language=es', '--json');
    at.proxy.answer = () => null;
    expect({ code: failed.code, out: failed.out }).toEqual({ code: 4, out: '' });
    const lines = failed.err.trim().split('\n');
    expect(lines).toContain('{"notice":"language: it -> es"}');
    expect(lines.at(-1)).toContain('"error"');
    const { err, out } = await acs('set', 'language=es', '--json');
    expect(err).toContain('{"notice":"language: it -> es"}');
    expect(JSON.parse(out)).toMatchObject({ language: 'es', changed: true });
  });

  it('warns on V0 that an unreadable secret may be lost', async () => {
    await acs('set', 'language=it');
    const { err } = await acs('set', 'language=es');
    expect(err.includes('sandbox_api_key')).toBe(api === 'v0');
  });

  it('sends the parts of secrets_store to the routes that accept them', async () => {
    const store = { custom_secrets: { DEPLOY_TOKEN: { secret: 'deploy-hush', description: 'to deploy' } } };
    const { code, out, err } = await acs('set', `secrets_store=@${await file('store.json', JSON.stringify(store))}`);
    expect(code).toBe(0);
    expect(out + err).not.toContain('deploy-hush');
    expect(at.proxy.writes().some(({ body }) => JSON.stringify(body).includes('deploy-hush'))).toBe(true);
  });

  it('--dry-run prints the request and stores nothing', async () => {
    const before = await settings();
    at.proxy.requests.length = 0;
    const { code, out } = await acs('set', 'max_iterations=99', '--dry-run', '--json');
    expect(code).toBe(0);
    const plan = JSON.parse(out) as { dry_run: boolean; requests: { method: string; url: string }[] };
    expect(plan.dry_run).toBe(true);
    expect(plan.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([`POST ${route}`]);
    expect(at.proxy.writes()).toEqual([]);
    expect(await settings()).toEqual(before);
  });

  it.each([['get'], ['set', 'max_iterations=7'], ['unset', 'language']])(
    'settings %s exits 2 for the format id before any request',
    async (...words) => {
      const { code, err } = await acs(...words, '-q');
      expect({ code, requests: at.proxy.requests }).toEqual({ code: 2, requests: [] });
      expect(err).toContain('settings have no ids');
    },
  );
});
