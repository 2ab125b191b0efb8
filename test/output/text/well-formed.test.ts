import { expect, test } from 'vitest';
import { escapeJson } from '../../../src/base/text/safe-text.ts';
import { cut, shortened, wellFormed, wellFormedJson } from '../../../src/base/text/well-formed.ts';

const EMOJI = '\u{1f600}';
const HALVES = /\p{Cs}/u;

test('a cut at any place, from either end, keeps no half of a pair and loses at most the other half', () => {
  const text = `a${EMOJI}${EMOJI}b${EMOJI}`;
  for (let length = 0; length <= text.length + 1; length += 1) {
    const [begin, end] = [cut(text, length), length === 0 ? '' : cut(text, -length)];
    expect([begin, end].filter((part) => HALVES.test(part))).toEqual([]);
    expect([text.startsWith(begin), text.endsWith(end)]).toEqual([true, true]);
    const least = Math.min(length, text.length) - 1;
    expect([begin.length >= least, end.length >= least]).toEqual([true, true]);
    expect(shortened(text, length)).toBe(length < text.length ? `${begin}…` : text);
  }
});

test('JSON keeps pairs and escapes, and has U+FFFD in place of halves and U+0000, in names too', () => {
  const value = {
    'n\ud83d': ['\0', 'a\udc00b', EMOJI, '\\u0000', '\\\\ud83d', '"\\\0"', '\ud83d\ud83d\ude00'],
  };
  const read = JSON.parse(wellFormedJson(JSON.stringify(value))) as unknown;
  const expected = {
    'n\ufffd': [
      '\ufffd',
      'a\ufffdb',
      EMOJI,
      '\\u0000',
      '\\\\ud83d',
      '"\\\ufffd"',
      `\ufffd${EMOJI}`,
    ],
  };
  expect([read, wellFormed(value)]).toEqual([expected, expected]);
});

test('what acs prints as JSON is well-formed', () => {
  expect(escapeJson(JSON.stringify({ text: 'a\ud83d\0' }))).toBe('{"text":"a\ufffd\ufffd"}');
});
