import { describe, expect, it } from 'vitest';
import { checkMcpConfig, maskMcpConfig, mcpFromV1, mcpToV1, unmaskMcpConfig } from '../../src/domain/mcp-config.ts';
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
    [{ servers: [] }, 'has no member servers; it has sse_servers, shttp_servers, stdio_servers'],
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
    [{ sse_servers: [{ url: 'http://h' }, { url: 'http://h' }] }, 'sse_servers[1] is there twice: http://h'],
  ])('%j: %s', (value, problem) => {
    expect(checkMcpConfig(value)).toBe(problem);
  });

  it('is converted to the map of V1 and back, with masked keys', () => {
    const config = {
      sse_servers: [{ url: 'http://s' }, { url: 'http://t', api_key: 'k' }],
      shttp_servers: [{ url: 'http://h', timeout: 5 }],
      stdio_servers: [{ name: 'sse', command: 'c', args: ['a'], env: { A: 'b' } }],
    };
    const map = mcpToV1(config);
    expect(Object.keys(map)).toEqual(['sse', 'sse_1', 'sse_1_1', 'shttp']);
    expect(mcpFromV1(map)).toEqual({
      sse_servers: [{ url: 'http://s' }, { url: 'http://t', api_key: '<redacted>' }],
      shttp_servers: [{ url: 'http://h', timeout: 5 }],
      stdio_servers: [{ name: 'sse', command: 'c', args: ['a'], env: { A: '<redacted>' } }],
    });
  });

  it('is printed masked, and keeps its stored keys when the masked form is written', () => {
    const stored = {
      shttp_servers: [{ url: 'http://h', api_key: 'k' }],
      stdio_servers: [{ name: 'a', command: 'c', env: { A: 'b' } }],
    };
    const shown = maskMcpConfig(stored);
    expect(JSON.stringify(shown)).not.toMatch(/"k"|"b"/);
    expect(unmaskMcpConfig(shown as typeof stored, stored)).toEqual({ config: stored, lost: [] });
    expect(unmaskMcpConfig({ shttp_servers: [{ url: 'http://new', api_key: '<redacted>' }] }, stored).lost).toEqual([
      'the key of http://new',
    ]);
  });
});
