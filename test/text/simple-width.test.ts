import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { roughRuler, rulerFor } from '../../src/text/width.ts';

test('widths computed without the library are equal to those of the library, for each character', async () => {
  // The ruler for a text that needs no library measures every simple character; it is not used for others.
  const simple = await rulerFor(['simple']);
  const ranges: [number, number][] = [
    [0x20, 0x7e],
    [0xa0, 0xac],
    [0xae, 0x2ff],
    [0x370, 0x377],
    [0x384, 0x482],
    [0x48a, 0x52f],
    [0x2010, 0x2027],
    [0x2030, 0x203b],
    [0x2190, 0x2193],
    [0x2500, 0x257f],
    [0x2713, 0x2713],
    [0x2717, 0x2717],
    [0x3000, 0x3020],
    [0x3041, 0x3096],
    [0x309b, 0x30ff],
    [0x3400, 0x4dbf],
    [0x4e00, 0x9fff],
    [0xac00, 0xd7a3],
    [0xff01, 0xff60],
  ];
  for (const [first, last] of ranges) {
    const text = Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index));
    expect(text.filter((character) => simple.width(character) !== stringWidth(character))).toEqual([]);
    expect(simple.width(text.join(''))).toBe(stringWidth(text.join('')));
  }
});

test('a text measured without the library is as wide as with it, or wider', () => {
  const texts = [
    '🙂',
    '👍🏽',
    '👩‍👩‍👧',
    '⚠️',
    '🇩🇪',
    '漢字𠀀',
    'カﾞ',
    '한국어',
    'ñ é̂',
    'שלום',
    'हिन्दी',
    'ไทย',
    'a🙂b',
    '𝒜',
    '①',
    '☎',
    'ｶ',
    '＄',
  ];
  const narrower = texts.filter((text) => roughRuler().width(text) < stringWidth(text));
  expect(narrower).toEqual([]);
  const scripts = ['ñ é̂', 'שלום', 'ไทย', '한국어', '漢字𠀀', '🙂'];
  expect(scripts.map((text) => roughRuler().width(text))).toEqual(scripts.map((text) => stringWidth(text)));
});
