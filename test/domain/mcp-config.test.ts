import { describe, expect, it } from 'vitest';
import {
  checkMcpConfig,
  checkMcpConfigV1,
  maskMcpConfig,
  restoreMcpSecrets,
} from '../../src/domain/mcp-config.ts';
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
    [{ shttp_servers: [{ url: 'http://h', timeout: 1 }] }, null],
    [
      {
        stdio_servers: ['a', 'b'].map((name) => ({
          name,
          command: 'x',
          args: ['-y'],
          env: { A: 'b' },
        })),
      },
      null,
    ],
    [[], 'must be an object with sse_servers, shttp_servers, stdio_servers'],
    [
      { servers: [] },
      'has no member servers; V0 servers have sse_servers, shttp_servers, stdio_servers',
    ],
    [{ sse_servers: {} }, 'sse_servers must be a list'],
    [{ sse_servers: ['http://h'] }, 'sse_servers[0] must be an object'],
    ...['h', 'ftp://h', 'xhttp://h', ['http://h']].map((url): [JsonValue, string] => [
      { sse_servers: [{ url }] },
      'sse_servers[0].url must be an http, https, ws or wss URL',
    ]),
    [{ sse_servers: [{ url: 'http://h', api_key: 1 }] }, 'sse_servers[0].api_key must be a text'],
    [
      { shttp_servers: [{ url: 'http://h', timeout: 3601 }] },
      'shttp_servers[0].timeout must be 1 to 3600 seconds',
    ],
    [
      { stdio_servers: [{ name: 1, command: 'x' }] },
      'stdio_servers[0].name must be letters, digits, _ and - only',
    ],
    [
      { stdio_servers: [{ name: 'a', command: 'x', args: ['x', 1] }] },
      'stdio_servers[0].args must be a list of texts',
    ],
    [
      { sse_servers: [{ url: 'http://h', timeout: 1 }] },
      'sse_servers[0] has no member timeout; it has url, api_key',
    ],
    [
      { shttp_servers: [{ url: 'http://h', timeout: 0 }] },
      'shttp_servers[0].timeout must be 1 to 3600 seconds',
    ],
    [
      { stdio_servers: [{ name: 'a b', command: 'x' }] },
      'stdio_servers[0].name must be letters, digits, _ and - only',
    ],
    ...['npx -y', 1].map((command): [JsonValue, string] => [
      { stdio_servers: [{ name: 'a', command }] },
      'stdio_servers[0].command must be one word; its arguments go to args',
    ]),
    [
      { stdio_servers: [{ name: 'a', command: 'x', env: { A: 1 } }] },
      'stdio_servers[0].env must be an object of texts',
    ],
    [
      { sse_servers: [{ url: 'https://<redacted>@h' }] },
      'sse_servers[0].url contains <redacted> in place of a secret: write it in full',
    ],
    [
      { sse_servers: [{ url: 'http://h' }, { url: 'http://h' }] },
      'sse_servers[1] repeats http://h',
    ],
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
    [{ demo: { command: 'c', args: ['-y', '--key=<redacted>'] } }, 'demo.args contains <redacted>'],
    [{ demo: { command: '<redacted>' } }, 'demo.command contains <redacted>'],
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
});

const bearer = { strategy: 'bearer' };
const hidden = { auth: bearer, headers: { X: '**********' }, env: { A: '**********' } };

it.each<[JsonValue, JsonValue, JsonValue, string[]]>([
  [{ url: 'u' }, null, { url: 'u' }, []],
  [{ url: 'u' }, hidden, { url: 'u' }, ['the key of demo', 'demo.headers', 'demo.env']],
  [
    { ...hidden, env: {} },
    hidden,
    { headers: {}, env: {} },
    ['the key of demo', 'demo.headers.X', 'demo.env.A'],
  ],
  [{ url: 'u', api_key: '' }, { auth: bearer }, { url: 'u', api_key: '' }, ['the key of demo']],
  [{ api_key: 'k' }, { auth: bearer }, { api_key: 'k' }, []],
  [{ headers: { A: 'b' } }, { auth: bearer }, { headers: { A: 'b' } }, []],
  [{ auth: { ...bearer, value: 'v' } }, { auth: bearer }, { auth: { ...bearer, value: 'v' } }, []],
  [
    { auth: { strategy: 'none' } },
    { auth: { strategy: 'none' } },
    { auth: { strategy: 'none' } },
    [],
  ],
  [{ env: { A: '***' } }, { env: { A: null } }, { env: {} }, ['demo.env.A']],
  [{ env: { A: 'x***', B: '***x' } }, {}, { env: { A: 'x***', B: '***x' } }, []],
  [{}, { env: { A: '***', B: 'b' } }, {}, ['demo.env']],
])('restoreMcpSecrets of %j over %j is %j and loses %j', (demo, stored, config, lost) => {
  const restored = restoreMcpSecrets({ mcpServers: { demo } }, stored && { demo: stored });
  expect(restored).toEqual({ config: { demo: config }, lost });
});
