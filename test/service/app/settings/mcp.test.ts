import { describe, expect, it } from 'vitest';
import { MASK, type Json } from '../../../../src/service/settings/fields.ts';
import {
  fromV0,
  fromV1,
  toAgent,
  toV0,
  toV1,
  type McpEntry,
} from '../../../../src/service/settings/mcp.ts';

const STORED: McpEntry[] = [
  { name: 'search', kind: 'shttp', url: 'https://a.example/mcp', api_key: 'secret-1', timeout: 90 },
  {
    name: 'events',
    kind: 'sse',
    url: 'https://b.example/sse',
    more: { headers: { 'X-Key': 'secret-2' }, note: 'n' },
  },
  {
    name: 'files',
    kind: 'stdio',
    command: 'npx',
    args: ['-y'],
    env: { TOKEN: 'secret-3' },
    more: { cwd: '/srv' },
  },
];

it('an agent gets the MCP servers with their secrets', () => {
  expect(toAgent(STORED)).toEqual({
    search: {
      url: 'https://a.example/mcp',
      transport: 'http',
      timeout: 90,
      headers: { Authorization: 'Bearer secret-1' },
    },
    events: {
      url: 'https://b.example/sse',
      transport: 'sse',
      headers: { 'X-Key': 'secret-2' },
      note: 'n',
    },
    files: { command: 'npx', args: ['-y'], env: { TOKEN: 'secret-3' }, cwd: '/srv' },
  });
});

describe('the MCP servers of V1', () => {
  it('show no secret', () => {
    expect(toV1(STORED)).toEqual({
      search: {
        url: 'https://a.example/mcp',
        transport: 'http',
        timeout: 90,
        auth: { strategy: 'bearer' },
      },
      events: {
        url: 'https://b.example/sse',
        transport: 'sse',
        headers: { 'X-Key': MASK },
        note: 'n',
      },
      files: { command: 'npx', args: ['-y'], env: { TOKEN: MASK }, cwd: '/srv' },
    });
  });

  it('keep their secrets when they are sent back as they were shown, alone or in mcpServers', () => {
    const kept = STORED.map((entry) =>
      entry.kind === 'stdio' ? entry : { api_key: null, ...entry },
    );
    expect(fromV1(toV1(STORED), STORED)).toEqual(kept);
    expect(fromV1({ mcpServers: toV1(STORED) }, STORED)).toEqual(kept);
  });

  it('do not send a stored token to another address', () => {
    const moved = { search: { url: 'https://evil.example/mcp', auth: { strategy: 'bearer' } } };
    expect(fromV1(moved, STORED)).toMatchObject([
      { url: 'https://evil.example/mcp', api_key: null },
    ]);
  });

  it.each<[string, Json]>([
    ['api_key', { api_key: 'secret' }],
    ['auth', { auth: { strategy: 'bearer', token: 'secret' } }],
    ['a bearer header', { headers: { authorization: 'Bearer secret' } }],
  ])('take a token from %s', (_, member) => {
    const config = { one: { url: 'wss://a.example', ...(member as object) } };
    expect(fromV1(config, [])).toEqual([
      { name: 'one', kind: 'shttp', url: 'wss://a.example', api_key: 'secret' },
    ]);
  });

  it('keep another scheme of authorization as a header', () => {
    const config = { one: { url: 'https://a.example', headers: { Authorization: 'Basic abc' } } };
    expect(fromV1(config, [])).toMatchObject([
      { api_key: null, more: { headers: { Authorization: 'Basic abc' } } },
    ]);
  });

  it('give a masked value without a stored one an empty value', () => {
    expect(fromV1({ one: { command: 'x', env: { TOKEN: MASK } } }, STORED)).toMatchObject([
      { env: { TOKEN: '' } },
    ]);
  });

  it.each<[Json, string]>([
    [[], 'mcp_config: Input should be a valid dictionary'],
    [{ x: 5 }, 'mcp_config.x: Input should be a valid dictionary'],
    [{ x: {} }, 'mcp_config.x: a server needs a command'],
    [{ x: { url: 'file:///etc/passwd' } }, 'mcp_config.x: a server needs a command'],
    [
      { x: { url: 'https://a', timeout: '9' } },
      'mcp_config.x.timeout: Input should be a valid number',
    ],
    [
      { x: { url: 'https://a', headers: { a: 1 } } },
      'mcp_config.x.headers: Input should be a valid dictionary',
    ],
    [
      { x: { command: 'a', args: [1] } },
      'mcp_config.x.args: Input should be a valid list of strings',
    ],
    [{ x: { command: 'a', env: ['A=1'] } }, 'mcp_config.x.env: Input should be a valid dictionary'],
  ])('refuse %j', (config, message) => {
    const refused = {
      status: 400,
      body: { error: expect.stringContaining(`agent_settings_diff.${message}`) },
    };
    expect(() => fromV1(config, [])).toThrow(expect.objectContaining(refused));
  });

  it('are removed by null', () => {
    expect(fromV1(null, STORED)).toEqual([]);
  });
});

describe('the MCP servers of V0', () => {
  it('are null when there are none', () => {
    expect(toV0([])).toBeNull();
    expect(fromV0(null, STORED)).toEqual([]);
  });

  it('return unchanged what was stored, with the names and members that only V1 has', () => {
    const expected = STORED.map((entry) =>
      entry.kind === 'sse' ? { ...entry, api_key: null } : entry,
    );
    const sorted = (entries: McpEntry[]) =>
      [...entries].sort((one, other) => one.name.localeCompare(other.name));
    expect(sorted(fromV0(toV0(STORED), STORED))).toEqual(sorted(expected));
  });

  it('get names that no other server has', () => {
    const server = { url: 'https://c.example' };
    const config = {
      sse_servers: [server, server],
      stdio_servers: [{ name: 'sse-1', command: 'x' }],
      shttp_servers: [server],
    };
    expect(fromV0(config, []).map(({ name, kind }) => [name, kind])).toEqual([
      ['sse-2', 'sse'],
      ['sse-3', 'sse'],
      ['sse-1', 'stdio'],
      ['shttp-1', 'shttp'],
    ]);
  });
});
