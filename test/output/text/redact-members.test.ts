import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/base/text/redact.ts';

const KEY = 'kq7/Zr+x "9" ü\\n';
const { value } = createRedactor([KEY, 'abc', '']);

test('members of JSON are redacted by name, and their structure is kept', () => {
  expect(
    value({
      llm_api_key: 'x',
      llm_api_key_set: true,
      sessionApiKey: 'x',
      empty: { password: '' },
      tokens: { input: 3, output: null },
      max_output_tokens: 4096,
      next_page_token: 'p2',
      secrets: { NAME: 'v', A_TOKEN: { kind: 'StaticSecret', value: 'v', description: 'd' } },
      provider_tokens: { github: { token: 't', host: 'h', user_id: 'u' } },
      secrets_store: { custom_secrets: { name: { secret: 's', description: 'd' } } },
      initial_env: { A: 'b', PORT: 3 },
      mcp_config: {
        sse_servers: [{ url: 'https://h/?token=a', api_key: 'k' }],
        stdio_servers: [
          { name: 'n', command: 'c', args: ['--api-key', 'k', '-v'], env: { A: 'b' } },
        ],
      },
      mcpServers: { one: { url: 'https://h', headers: { 'X-Anything': 'v' }, auth: 'k' } },
      request: {
        headers: { 'X-Session-API-Key': 'k', Authorization: 'Bearer k', Accept: 'text/html' },
      },
      list: [{ secrets: [{ name: 'NAME', value: 'v' }] }],
    }),
  ).toEqual({
    llm_api_key: '<redacted>',
    llm_api_key_set: true,
    sessionApiKey: '<redacted>',
    empty: { password: '' },
    tokens: { input: 3, output: null },
    max_output_tokens: 4096,
    next_page_token: 'p2',
    secrets: {
      NAME: '<redacted>',
      A_TOKEN: { kind: 'StaticSecret', value: '<redacted>', description: 'd' },
    },
    provider_tokens: { github: { token: '<redacted>', host: 'h', user_id: 'u' } },
    secrets_store: { custom_secrets: { name: { secret: '<redacted>', description: 'd' } } },
    initial_env: { A: '<redacted>', PORT: '<redacted>' },
    mcp_config: {
      sse_servers: [{ url: 'https://h/?token=<redacted>', api_key: '<redacted>' }],
      stdio_servers: [
        {
          name: 'n',
          command: 'c',
          args: ['--api-key', '<redacted>', '-v'],
          env: { A: '<redacted>' },
        },
      ],
    },
    mcpServers: {
      one: { url: 'https://h', headers: { 'X-Anything': '<redacted>' }, auth: '<redacted>' },
    },
    request: {
      headers: {
        'X-Session-API-Key': '<redacted>',
        Authorization: '<redacted>',
        Accept: 'text/html',
      },
    },
    list: [{ secrets: [{ name: 'NAME', value: '<redacted>' }] }],
  });
});

test('a known secret in the name of a member is redacted although its value is not', () => {
  expect(createRedactor(['hush-word-1001']).value({ 'x hush-word-1001': 1 })).toEqual({
    'x <redacted>': 1,
  });
});

test('headers and auth are credentials where a server of the Model Context Protocol is described, and not elsewhere', () => {
  const members = { headers: { 'X-Any': 'v' }, auth: 'v', other: 'v' };
  const redacted = { headers: { 'X-Any': '<redacted>' }, auth: '<redacted>', other: 'v' };
  for (const name of ['mcp', 'mcp_config', 'mcpServers'])
    expect(createRedactor([]).value({ [name]: members, tool: members })).toEqual({
      [name]: redacted,
      tool: members,
    });
});

test('what is deeper than 200 levels is replaced as a whole, however deep it is', () => {
  let deep: unknown = 'a';
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  const shown = JSON.stringify(value(deep));
  expect(shown).toBe(`${'['.repeat(201)}"<redacted>"${']'.repeat(201)}`);
});

test('a document of any depth and with a member __proto__ is copied, not followed', () => {
  let deep: unknown = { token: 'abc' };
  for (let level = 0; level < 5000; level += 1) deep = [deep];
  expect(JSON.stringify(value(deep))).not.toContain('abc');
  expect(JSON.stringify(value(JSON.parse('{"__proto__":{"token":"abc"}}')))).toBe(
    '{"__proto__":{"token":"<redacted>"}}',
  );
});
