import { expect, it } from 'vitest';
import { checkSecretsStore, toSecretsStore } from '../../src/domain/secrets-store.ts';
import type { JsonValue } from '../../src/domain/settings.ts';

it.each<[JsonValue]>([
  [{}],
  [{ provider_tokens: { github: { token: 't', host: null } } }],
  [{ custom_secrets: { MY_SECRET: { secret: 's', description: 'd' } } }],
])('checkSecretsStore accepts %j', (value) => {
  expect(checkSecretsStore(value)).toBeNull();
});

it.each<[JsonValue, string]>([
  [null, 'object'],
  [{ tokens: {} }, 'tokens'],
  [{ provider_tokens: [] }, 'provider_tokens'],
  [{ provider_tokens: { github: 't' } }, 'provider_tokens.github'],
  [{ provider_tokens: { github: { host: 1 } } }, 'provider_tokens.github.host'],
  [{ custom_secrets: { '1ST': { secret: 's' } } }, 'custom_secrets.1ST'],
  [{ custom_secrets: { NAME: {} } }, 'custom_secrets.NAME'],
  [{ custom_secrets: { NAME: { secret: 's', description: 1 } } }, 'custom_secrets.NAME.description'],
])('checkSecretsStore names the wrong member of %j', (value, named) => {
  expect(checkSecretsStore(value)).toContain(named);
});

it('toSecretsStore fills missing parts with empty ones', () => {
  expect(toSecretsStore({})).toEqual({ provider_tokens: {}, custom_secrets: {} });
});
