import { expect, it } from 'vitest';
import { isMcpName, isSecretMap, isSecretName } from '../../src/text/secret-names.ts';

it.each([
  'sessionApiKey',
  'X-Session-API-Key',
  'session_api_key',
  'GITHUB_TOKEN',
  'aws.secret.key',
  'Set-Cookie',
  'device_code',
])('isSecretName returns true for %s in any notation', (name) => {
  expect(isSecretName(name)).toBe(true);
});

it.each(['next_page_token', 'pageToken', 'has_api_key', 'tokens_used', 'keyboard', 'id', 'use_token', 'user_code'])(
  'isSecretName returns false for %s',
  (name) => {
    expect(isSecretName(name)).toBe(false);
  },
);

it.each([
  ['env', true],
  ['provider_tokens', true],
  ['customSecrets', true],
  ['environment_name', false],
  ['headers', false],
])('isSecretMap of %s is %s', (name, expected) => {
  expect(isSecretMap(name)).toBe(expected);
});

it.each([
  ['mcp_config', true],
  ['mcp', true],
  ['mcpServers', true],
  ['mcp_timeout', false],
])('isMcpName of %s is %s', (name, expected) => {
  expect(isMcpName(name)).toBe(expected);
});
