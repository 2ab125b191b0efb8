import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../src/protocol/settings.ts';
import { MASK } from '../../../../src/service/settings/fields.ts';
import { fromV0, fromV1, toAgent, toV0, toV1 } from '../../../../src/service/settings/mcp.ts';
import { readSettings } from '../../../../src/service/settings/settings.ts';
import type { DocumentStore } from '../../../../src/service/storage/documents.ts';

const STORED = {
  search: {
    url: 'https://a.example/mcp',
    transport: 'http',
    api_key: 'secret-1',
    timeout: 90,
  },
  events: {
    url: 'https://b.example/sse',
    transport: 'sse',
    headers: { 'X-Key': 'secret-2' },
    note: 'n',
  },
  files: { command: 'npx', args: ['-y'], env: { TOKEN: 'secret-3' }, cwd: '/srv' },
};

it('an agent gets the MCP servers with their secrets, and a token as a header', () => {
  const { api_key: key, ...search } = STORED.search;
  const headers = { Authorization: `Bearer ${key}` };
  expect(toAgent(STORED)).toEqual({ ...STORED, search: { ...search, headers } });
});

it('a list of an earlier build is read as a map', () => {
  const { search, events, files } = STORED;
  const mcp = [
    { name: 'search', kind: 'shttp', url: search.url, api_key: 'secret-1', timeout: 90 },
    { name: 'events', kind: 'sse', url: events.url, more: { headers: events.headers, note: 'n' } },
    { ...files, name: 'files', kind: 'stdio', cwd: undefined, more: { cwd: '/srv' } },
  ].map((server) => JSON.parse(JSON.stringify(server)) as unknown);
  const documents = { read: () => ({ plain: {}, mcp }) } as unknown as DocumentStore;
  expect(readSettings(documents)?.mcp).toEqual(STORED);
});

describe('the MCP servers of V1', () => {
  it('show no secret', () => {
    expect(toV1(STORED, MASK)).toEqual({
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
    expect(fromV1(toV1(STORED, MASK), STORED)).toEqual(STORED);
    expect(fromV1({ mcpServers: toV1(STORED, MASK) }, STORED)).toEqual(STORED);
  });

  it('do not send a stored token to another address', () => {
    const moved = { search: { url: 'https://evil.example/mcp', auth: { strategy: 'bearer' } } };
    expect(fromV1(moved, STORED)).toEqual({ search: { url: 'https://evil.example/mcp' } });
  });

  it.each<[string, JsonValue]>([
    ['api_key', { api_key: 'secret' }],
    ['the token of auth', { auth: { strategy: 'bearer', token: 'secret' } }],
    ['the value of auth', { auth: { strategy: 'bearer', value: 'secret' } }],
  ])('take a token from %s', (_, member) => {
    const config = { one: { url: 'wss://a.example', ...(member as object) } };
    expect(fromV1(config, {})).toEqual({ one: { url: 'wss://a.example', api_key: 'secret' } });
  });

  it('keep an authorization that is written as a header', () => {
    const one = { url: 'https://a.example', headers: { Authorization: 'Basic abc' } };
    expect(fromV1({ one }, {})).toEqual({ one });
  });

  it('give a masked value without a stored one an empty value', () => {
    expect(fromV1({ one: { command: 'x', env: { TOKEN: MASK } } }, STORED)).toMatchObject({
      one: { env: { TOKEN: '' } },
    });
  });

  it.each<[JsonValue, string]>([
    [[], 'mcp_config: Invalid type: Expected Object'],
    [{ x: 5 }, 'mcp_config.x: Invalid type: Expected Object'],
    [{ x: {} }, 'mcp_config.x: a server needs a command'],
    [{ x: { url: 'file:///etc/passwd' } }, 'mcp_config.x.url: Invalid format'],
    [{ x: { url: 'https://a', timeout: '9' } }, 'mcp_config.x.timeout: Invalid type'],
    [{ x: { url: 'https://a', headers: { a: 1 } } }, 'mcp_config.x.headers.a: Invalid type'],
    [{ x: { command: 'a', args: [1] } }, 'mcp_config.x.args.0: Invalid type'],
    [{ x: { command: 'a', env: ['A=1'] } }, 'mcp_config.x.env: Invalid type'],
  ])('refuse %j', (config, message) => {
    const refused = {
      status: 400,
      body: { error: expect.stringContaining(`agent_settings_diff.${message}`) },
    };
    expect(() => fromV1(config, {})).toThrow(expect.objectContaining(refused));
  });

  it('are removed by null', () => {
    expect(fromV1(null, STORED)).toEqual({});
  });
});

describe('the MCP servers of V0', () => {
  it('are null when there are none', () => {
    expect(toV0({})).toBeNull();
    expect(fromV0(null, STORED)).toEqual({});
  });

  it('return unchanged what was stored, with the names and members that only V1 has', () => {
    const events = { ...STORED.events, api_key: null };
    expect(fromV0(toV0(STORED), STORED)).toEqual({ ...STORED, events });
  });

  it('get names that no other server has', () => {
    const server = { url: 'https://c.example' };
    const config = {
      sse_servers: [server, server],
      stdio_servers: [{ name: 'sse-1', command: 'x' }],
      shttp_servers: [server],
    };
    expect(fromV0(config, {})).toMatchObject({
      'sse-1': { command: 'x' },
      'sse-2': { transport: 'sse' },
      'sse-3': { transport: 'sse' },
      'shttp-1': { transport: 'http' },
    });
  });
});
