import { expect, test } from 'vitest';
import {
  createSafeStream,
  escapeJson,
  safeLine,
  safeText,
} from '../../../src/base/text/safe-text.ts';

/**
 * What may never reach a terminal: C0 but tab and line feed, DEL, C1, bidirectional and invisible
 * characters.
 */
const HARMFUL =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]/u;

test.each([
  ['a colour', '\x1b[31mred\x1b[0m', '\\x1b[31mred\\x1b[0m'],
  ['a title', '\x1b]0;gotcha\x07', '\\x1b]0;gotcha\\x07'],
  ['a C1 sequence', '\u009b2J', '\\x9b2J'],
  ['an override', 'a\u202etxt.exe', 'a\\u202etxt.exe'],
  ['an isolate', '\u2066x\u2069', '\\u2066x\\u2069'],
  ['separators', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
  ['zero width', 'pass\u200bword\ufeff', 'pass\\u200bword\\ufeff'],
  ['tags', 'hi\u{e0041}', 'hi\\u{e0041}'],
  ['a joiner in ASCII', 'ad\u200dmin', 'ad\\u200dmin'],
  ['a lone surrogate', 'a\ud800b', 'a\\ud800b'],
  ['a carriage return', 'safe\rrm -rf', 'safe\\rrm -rf'],
  ['a backspace', 'ab\x08c', 'ab\\x08c'],
  ['NUL and DEL', '\0\x7f', '\\x00\\x7f'],
])('%s is shown and has no effect', (_, hostile, shown) => {
  expect(safeText(hostile)).toBe(shown);
  expect(safeLine(hostile)).toBe(shown);
});

test('ordinary text is unchanged: accents, scripts, emoji with joiners, joiners of Persian', () => {
  for (const text of [
    'Grüße, naïve façade',
    '日本語 テスト',
    '👩‍👩‍👧‍👦 ok',
    'می\u200cخواهم',
    'שלום',
    'e\u0301',
    '❤️ #️⃣',
  ]) {
    expect(safeLine(text)).toBe(text);
  }
});

test('line feeds and tabs are kept in text and shown on a line', () => {
  expect(safeText('a\n\tb')).toBe('a\n\tb');
  expect(safeLine('a\n\tb')).toBe('a\\n\\tb');
});

test('JSON has no raw character that JSON.stringify leaves, and parses to the same value', () => {
  const value = { 'k\u009b': 'a\u009b2J \u202e \u2028 \ufeff \u{e0041} \x7f "q" \\', emoji: '👩‍👧' };
  const json = escapeJson(JSON.stringify(value, null, 2));
  expect(json).toContain('\\u009b2J \\u202e \\u2028 \\ufeff \\udb40\\udc41 \\u007f');
  expect(json).toContain('👩‍👧');
  expect(json).not.toMatch(HARMFUL);
  expect(JSON.parse(json)).toEqual(value);
});

test('a stream of bytes is safe in any chunks', () => {
  const bytes = Buffer.from('\ufeffé👩‍👧 \x1b[2J ok\r\nline\rover \u202e \u200d end\u200d');
  const whole = '\\ufeffé👩‍👧 \\x1b[2J ok\nline\\rover \\u202e \\u200d end\\u200d';
  for (let size = 1; size <= bytes.length; size += 1) {
    const stream = createSafeStream();
    let out = '';
    for (let at = 0; at < bytes.length; at += size)
      out += stream.push(bytes.subarray(at, at + size));
    expect(out + stream.end()).toBe(whole);
  }
});

test('a stream takes text, gives out once what it held back, and judges a joiner by the character before it', () => {
  const stream = createSafeStream();
  expect([stream.push('a\x1b[2J\r'), stream.push('\n\r\r'), stream.end(), stream.end()]).toEqual([
    'a\\x1b[2J',
    '\n',
    '\\r\\r',
    '',
  ]);
  for (const [before, joined] of [
    ['é', '\u200dé'],
    ['a', '\\u200dé'],
    ['\u202e', '\\u200dé'],
  ] as const) {
    const other = createSafeStream();
    other.push(before);
    expect(other.push('\u200dé')).toBe(joined);
  }
});

test('invalid UTF-8 becomes the replacement character, also at the end', () => {
  const stream = createSafeStream();
  expect(stream.push(Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82)) + stream.end()).toBe(
    'a\ufffdb\ufffd',
  );
});

test('random text of harmful characters is always escaped', () => {
  const random = randomFrom(7);
  const alphabet = [
    '\x1b',
    '\u009b',
    '\u202e',
    '\u200d',
    '\u200c',
    'a',
    '日',
    '👩',
    '\u0301',
    '\r',
    '\n',
    '\ud83d',
    '\u{e0041}',
  ];
  for (let round = 0; round < 2000; round += 1) {
    const text = Array.from(
      { length: 12 },
      () => alphabet[Math.floor(random() * alphabet.length)],
    ).join('');
    expect(safeText(text)).not.toMatch(HARMFUL);
    expect(safeLine(text)).not.toContain('\n');
  }
});

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
