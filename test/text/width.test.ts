import { expect, test } from 'vitest';
import { rulerFor, wideRuler } from '../../src/text/width.ts';

test.each([
  ['plain', 5],
  ['naïve ąß', 8],
  ['日本語', 6],
  ['e\u0301', 1],
  ['👩‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
  ['ﾊﾟ', 2],
  ['Привет…', 7],
  ['', 0],
])('%s takes %i columns', async (text, columns) => {
  expect((await rulerFor([text])).width(text)).toBe(columns);
});

test.each([
  ['abcdef', 4, 'abc…'],
  ['abcd', 4, 'abcd'],
  ['日本語テスト', 6, '日本…'],
  ['日本語', 6, '日本語'],
  ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦x', 4, '👩‍👩‍👧‍👦…'],
  ['e\u0301e\u0301e\u0301e\u0301', 3, 'e\u0301e\u0301…'],
  ['abc', 1, '…'],
  ['日', 1, '…'],
  ['abc', 0, ''],
])('%s in %i columns is %s', async (text, columns, cut) => {
  expect((await rulerFor([text])).truncate(text, columns)).toBe(cut);
});

test('filling counts columns, not characters', async () => {
  const ruler = await wideRuler();
  expect(ruler.pad('日本', 6)).toBe('日本  ');
  expect(ruler.pad('abcdef', 3)).toBe('abcdef');
});

test('a very long text is cut without being measured whole', async () => {
  const ruler = await wideRuler();
  expect(ruler.truncate('日'.repeat(1_000_000), 11)).toBe('日日日日日…');
  expect(ruler.truncate(`a${'\u0301'.repeat(1_000_000)}`, 11).length).toBeLessThan(5000);
});
