import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  const acs = at.acs;

  it('exits 2 for a secret on the command line before any request, and does not print it', async () => {
    for (const word of [
      'llm_api_key=sk-hush',
      'mcp_config={"shttp_servers":[{"url":"http://x.example","api_key":"sk-hush"}]}',
    ]) {
      const { code, out, err } = await acs('set', word, '--json');
      expect(code).toBe(2);
      expect(out + err).not.toContain('sk-hush');
      expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage' } });
    }
    expect(at.proxy.requests).toEqual([]);
  });

  it.each([
    ['max_iterations=many', 'max_iterations: must be a whole number'],
    ['max_iterations=0', 'max_iterations: must be at least 1'],
    ['confirmation_mode=yes', 'confirmation_mode: must be true or false'],
    ['remote_runtime_resource_factor=3', 'remote_runtime_resource_factor: must be one of 1, 2, 4, 8'],
    [
      'mcp_config={"sse_servers":[{"url":"ftp://x"}]}',
      'mcp_config: sse_servers[0].url must be an http, https, ws or wss URL',
    ],
    ['mcp_config={"sse_servers":[', 'mcp_config: is not valid JSON'],
    [
      'mcp_config={"sse_servers":[{"url":"https://<redacted>@x.example/sse"}]}',
      'mcp_config: sse_servers[0].url has <redacted> in it, where a secret was: write it in full',
    ],
    ['secrets_store=[]', 'secrets_store: must be an object'],
  ])('refuses %s before any request', async (word, problem) => {
    const { code, err } = await acs('set', word);
    expect(code).toBe(2);
    expect(err).toContain(`error: ${problem}`);
    expect(at.proxy.requests).toEqual([]);
  });
});
