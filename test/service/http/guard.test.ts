import { describe, expect, it } from 'vitest';
import { isKey } from '../../../src/service/http/guard.ts';

describe('the comparison of keys', () => {
  it('accepts the key', () => {
    expect(isKey('0123456789abcdef', '0123456789abcdef')).toBe(true);
    expect(isKey('schlüssel', 'schlüssel')).toBe(true);
  });

  it.each([
    ['another of the same length', '0123456789abcdeg'],
    ['a beginning of it', '0123456789abcde'],
    ['one that begins with it', '0123456789abcdef0'],
    ['one of other case', '0123456789ABCDEF'],
    ['as many characters in more bytes', '0123456789abcdeü'],
    ['an empty one', ''],
    ['none: undefined', undefined],
    ['none: null', null],
  ])('refuses %s', (_, given) => {
    expect(isKey(given, '0123456789abcdef')).toBe(false);
  });

  it.each([undefined, null])('refuses a request without a key although the key is empty: %s', (given) => {
    expect(isKey(given, '')).toBe(false);
  });
});
