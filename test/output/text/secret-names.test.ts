import { expect, it } from 'vitest';
import { isMcpName, isSecretMap, isSecretName } from '../../../src/base/text/secret-names.ts';

it.each([
  'sessionApiKey',
  'X-Session-API-Key',
  'session_api_key',
  'GITHUB_TOKEN',
  'aws.secret.key',
  'Set-Cookie',
  'device_code',
])('isSecretName returns true for %s in any notation', (name) => {
  expect(isSecretName(name, 'member')).toBe(true);
});

it.each([
  'next_page_token',
  'pageToken',
  'has_api_key',
  'tokens_used',
  'keyboard',
  'id',
  'use_token',
  'user_code',
  'input_cost_per_token',
])('isSecretName returns false for %s', (name) => {
  expect(isSecretName(name, 'member')).toBe(false);
});

it.each([
  ['key', 'query', true],
  ['subscriptionKey', 'query', true],
  ['key', 'member', false],
  ['key', 'variable', false],
  ['ENCRYPTION_KEY', 'variable', true],
  ['monkey', 'query', false],
  ['sort_key', 'query', false],
  ['Idempotency-Key', 'header', false],
  ['X-Auth-Key', 'header', true],
  ['auth', 'mcp', true],
  ['auth', 'member', false],
  ['author', 'query', false],
  ['max-tokens', 'argument', false],
  ['miniMaxApiKey', 'member', true],
] as const)('isSecretName of %s as a %s is %s', (name, place, expected) => {
  expect(isSecretName(name, place)).toBe(expected);
});

it.each([
  ['env', true],
  ['provider_tokens', true],
  ['customSecrets', true],
  ['environment_name', false],
  ['headers', false],
])('isSecretMap of %s is %s', (name, expected) => {
  expect(isSecretMap(name, 'member')).toBe(expected);
});

it.each([
  ['mcp_config', true],
  ['mcp', true],
  ['mcpServers', true],
  ['mcp_timeout', false],
])('isMcpName of %s is %s', (name, expected) => {
  expect(isMcpName(name)).toBe(expected);
});
