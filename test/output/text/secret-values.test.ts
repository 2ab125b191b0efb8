import { expect, test } from 'vitest';
import { formsOf, isMaskable } from '../../../src/base/text/secret-values.ts';

test.each([
  ...[
    '',
    'x',
    '1',
    'test',
    'ollama',
    'none',
    'EMPTY',
    's3cr3t',
    '12345678',
    '2026-11-27',
    '127.0.0.1',
    '255.255.255.255',
  ],
  ...[
    'lm-studio',
    'not-needed',
    'NotNeeded',
    'no_key_needed',
    'LiteLLM',
    'DeepSeek',
    'password',
    'PRODUCTION',
  ],
  ...['not a key', 'api.example', 'vLLM-server', ' localhost\n', 'schlüssel', '--------'],
])('the value %j cannot be distinguished from ordinary words and numbers', (value) => {
  expect(isMaskable(value)).toBe(false);
});

test.each([
  ...[
    's3cr3t-k',
    'sk-1234567890',
    'hunter22',
    'abcdefg1',
    'localhost:8080',
    'p@ssword',
    'xKqPvTzR',
    'QwErTyUi',
  ],
  ...[
    'abcdefghijklmnop',
    'very-secret-value',
    '1234567890123456',
    'correct horse battery staple',
    'a\nb\nc\nd\ne',
  ],
])('the value %j is a secret', (value) => {
  expect(isMaskable(value)).toBe(true);
});

test('the forms of values are those of maskable values and lines, the longest first', () => {
  const forms = formsOf(['test', ' s3cr3t"k\n', 'line-no-1\n}\nsecond\nline-no-2']);
  expect(forms).toEqual(forms.toSorted((a, b) => b.length - a.length));
  expect(forms).toEqual(
    expect.arrayContaining(['s3cr3t"k', 's3cr3t\\"k', 's3cr3t%22k', 'line-no-1', 'line-no-2']),
  );
  expect(forms.filter((form) => ['test', '}', 'second'].includes(form))).toEqual([]);
});
