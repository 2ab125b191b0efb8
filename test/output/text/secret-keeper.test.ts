import { expect, it } from 'vitest';
import { createSecretKeeper } from '../../../src/base/text/redact.ts';

it('createSecretKeeper redacts the known secrets and each one that is kept later', () => {
  const keeper = createSecretKeeper(['first-secret-1']);
  expect(keeper.text('first-secret-1 second-secret-2')).toBe('<redacted> second-secret-2');
  keeper.keep('second-secret-2');
  expect(keeper.text('first-secret-1 second-secret-2')).toBe('<redacted> <redacted>');
  expect([...keeper.secrets]).toEqual(['first-secret-1', 'second-secret-2']);
});

it('isRedacted is true for a marked value until a further secret is kept', () => {
  const keeper = createSecretKeeper(['first-secret-1']);
  const value = {};
  expect(keeper.isRedacted(value)).toBe(false);
  keeper.markRedacted(value);
  expect(keeper.isRedacted(value)).toBe(true);
  keeper.keep('first-secret-1');
  expect(keeper.isRedacted(value)).toBe(true);
  keeper.keep('second-secret-2');
  expect(keeper.isRedacted(value)).toBe(false);
});
