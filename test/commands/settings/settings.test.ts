import { describe, expect, it } from 'vitest';
import { useSettings } from './support.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useSettings(api);
  const { acs, settings, file } = at;

  it('stores MCP servers from a file and shows them without their keys', async () => {
    const config = {
      sse_servers: [{ url: 'https://one.example.org/sse', api_key: 'sse-hush' }],
      shttp_servers: [{ url: 'https://two.example.org/mcp', api_key: 'http-hush', timeout: 30 }],
      stdio_servers: [{ name: 'tools', command: 'npx', args: ['-y', 'tools'], env: { TOKEN: 'env-hush' } }],
    };
    const { code, out, err } = await acs(
      'set',
      `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`,
      '--json',
    );
    expect(code).toBe(0);
    expect(out + err).not.toContain('hush');
    const sent = JSON.stringify(at.proxy.writes()[0]?.body);
    for (const secret of ['sse-hush', 'http-hush', 'env-hush']) expect(sent).toContain(secret);
    const shown = (await settings())['mcp_config'];
    expect(shown).toMatchObject({
      sse_servers: [{ url: 'https://one.example.org/sse', api_key: '<redacted>' }],
      shttp_servers: [{ url: 'https://two.example.org/mcp' }],
      stdio_servers: [{ name: 'tools', command: 'npx', args: ['-y', 'tools'] }],
    });
    expect((await acs('unset', 'mcp_config')).code).toBe(0);
    expect((await settings())['mcp_config']).toBeNull();
  });

  it('shows no secret in the arguments of MCP servers, and refuses one on the command line', async () => {
    const args = ['-y', 'tools', '--api-key=hush-one', '--token', 'hush-two', '-e', 'GITHUB_TOKEN=hush-three'];
    const config = { stdio_servers: [{ name: 'tools', command: 'npx', args }] };
    const word = `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`;
    const planned = await acs('set', word, '--dry-run', '--debug');
    const set = await acs('set', word);
    const again = await acs('set', word, '--json');
    const { out } = await acs('get', '--json');
    expect(JSON.stringify(at.proxy.writes().at(-1)?.body)).toContain('hush-three');
    for (const each of [planned, set, again, { out, err: '' }]) expect(each.out + each.err).not.toContain('hush');
    expect(set.err).toContain('--api-key=<redacted>');
    expect((await settings())['mcp_config']).toMatchObject({
      stdio_servers: [
        { args: ['-y', 'tools', '--api-key=<redacted>', '--token', '<redacted>', '-e', 'GITHUB_TOKEN=<redacted>'] },
      ],
    });
    expect((await acs('set', `mcp_config=${JSON.stringify(config)}`)).code).toBe(2);
    await acs('unset', 'mcp_config');
  });

  it('exits 2 for settings edit off a terminal', async () => {
    expect((await acs('edit')).code).toBe(2);
  });
});
