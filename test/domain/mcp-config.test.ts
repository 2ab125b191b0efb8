import { describe, expect, it } from 'vitest';
import { checkMcpConfig, checkMcpConfigV1, maskMcpConfig, restoreMcpSecrets } from '../../src/domain/mcp-config.ts';
import type { JsonValue } from '../../src/domain/settings.ts';

describe('mcp_config', () => {
  it.each<[JsonValue, string | null]>([
    [{}, null],
    [
      {
        sse_servers: [{ url: 'wss://h/x' }],
        shttp_servers: [{ url: 'http://h', timeout: 3600 }],
        stdio_servers: [{ name: 'a-b_1', command: 'npx' }],
      },
      null,
    ],
    [[], 'must be an object with sse_servers, shttp_servers, stdio_servers'],
    [{ servers: [] }, 'has no member servers; V0 servers have sse_servers, shttp_servers, stdio_servers'],
    [{ sse_servers: {} }, 'sse_servers must be a list'],
    [{ sse_servers: [{ url: 'ftp://h' }] }, 'sse_servers[0].url must be an http, https, ws or wss URL'],
    [{ sse_servers: [{ url: 'http://h', timeout: 1 }] }, 'sse_servers[0] has no member timeout; it has url, api_key'],
    [{ shttp_servers: [{ url: 'http://h', timeout: 0 }] }, 'shttp_servers[0].timeout must be 1 to 3600 seconds'],
    [{ stdio_servers: [{ name: 'a b', command: 'x' }] }, 'stdio_servers[0].name must be letters, digits, _ and - only'],
    [
      { stdio_servers: [{ name: 'a', command: 'npx -y' }] },
      'stdio_servers[0].command must be one word; its arguments go to args',
    ],
    [
      { stdio_servers: [{ name: 'a', command: 'x', env: { A: 1 } }] },
      'stdio_servers[0].env must be an object of texts',
    ],
    [
      { sse_servers: [{ url: 'https://<redacted>@h' }] },
      'sse_servers[0].url contains <redacted> in place of a secret: write it in full',
    ],
    [{ sse_servers: [{ url: 'http://h' }, { url: 'http://h' }] }, 'sse_servers[1] repeats http://h'],
  ])('%j: %s', (value, problem) => {
    expect(checkMcpConfig(value)).toBe(problem);
  });

  it.each<[JsonValue, string | null]>([
    [{}, null],
    [{ mcpServers: { demo: { url: 'https://h', headers: { Authorization: 'Bearer x' } } } }, null],
    [{ files: { command: 'npx', args: ['-y'] } }, null],
    [[], 'must be an object of servers by name'],
    [{ sse_servers: [] }, 'has the form of V0 servers; this server has {"<name>": {"url"'],
    [{ demo: [] }, 'demo must be an object'],
    [{ demo: { url: 'ftp://h' } }, 'demo.url must be an http, https, ws or wss URL'],
    [{ demo: { command: 'c', args: ['--key=<redacted>'] } }, 'demo.args contains <redacted>'],
  ])('of V1 %j: %s', (value, problem) => {
    if (problem === null) expect(checkMcpConfigV1(value)).toBeNull();
    else expect(checkMcpConfigV1(value)).toContain(problem);
  });

  it('is printed masked, and keeps its stored keys when the masked form is written', () => {
    const stored = {
      shttp_servers: [{ url: 'http://h', api_key: 'k' }],
      stdio_servers: [{ name: 'a', command: 'c', env: { A: 'b' } }],
    };
    const shown = maskMcpConfig(stored);
    expect(JSON.stringify(shown)).not.toMatch(/"k"|"b"/);
    expect(restoreMcpSecrets(shown, stored)).toEqual({ config: stored, lost: [] });
    const other = { shttp_servers: [{ url: 'http://new', api_key: '<redacted>' }] };
    expect(restoreMcpSecrets(other, stored)).toEqual({
      config: { shttp_servers: [{ url: 'http://new' }] },
      lost: ['http://new.api_key'],
    });
  });

  it.each<[JsonValue, string[]]>([
    [{ url: 'http://h' }, ['the key of demo', 'demo.headers', 'demo.env']],
    [
      { url: 'http://h', auth: { strategy: 'bearer' }, headers: { X: '**********' }, env: {} },
      ['the key of demo', 'demo.headers.X', 'demo.env.A'],
    ],
    [{ url: 'http://h', api_key: 'new', headers: { X: 'new' }, env: { A: 'new' } }, []],
  ])('of V1 names the secrets that cannot be read back and that %j leaves out', (demo, lost) => {
    const stored = {
      demo: { url: 'http://h', auth: { strategy: 'bearer' }, headers: { X: '**********' }, env: { A: '**********' } },
    };
    const { config, lost: found } = restoreMcpSecrets({ demo }, stored);
    expect(found.sort()).toEqual([...lost].sort());
    expect(JSON.stringify(config)).not.toContain('*');
  });
});
