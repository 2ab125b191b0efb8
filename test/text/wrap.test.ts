import { expect, test } from 'vitest';
import { wideRuler } from '../../src/text/width.ts';
import { expandTabs, type Room, wrapLines } from '../../src/text/wrap.ts';

const wrap = async (text: string, room: Partial<Room> = {}): Promise<string[]> => {
  const lines = wrapLines(text, { columns: 10, indent: 2, longWords: 'break', ...room }, await wideRuler());
  return lines.map(({ start, end }) => text.slice(start, end));
};

test.each([
  ['at words', 'one two three four', ['one two', 'three', 'four']],
  ['not at all when it fits', 'one two 34', ['one two 34']],
  ['with less room below the first line', '0123456789 23456789 x', ['0123456789', '23456789', 'x']],
  ['at line feeds', 'one\n\ntwo three', ['one', '', 'two', 'three']],
  ['without the blanks at the break', 'one two      three  \nx  ', ['one two', 'three', 'x']],
  ['with the indentation of code', '   if x:\n    y()', ['   if x:', '    y()']],
  ['but not with one that leaves no place for the word', 'a\n      wide word', ['a', 'wide', 'word']],
  ['inside a word that fits no line', 'a 0123456789abcdef b', ['a 01234567', '89abcdef', 'b']],
  ['never inside an address', 'see (https://host/a/b/c/d) now', ['see (https://host/a/b/c/d)', 'now']],
  ['between wide characters', '日本語のテスト', ['日本語のテ', 'スト']],
  ['but not before what closes', '日本語のテ。スト', ['日本語の', 'テ。スト']],
  ['by columns of combining characters', 'e\u0301'.repeat(12), ['e\u0301'.repeat(10), 'e\u0301e\u0301']],
  ['between whole emoji', '👩‍👩‍👧‍👦'.repeat(6), ['👩‍👩‍👧‍👦'.repeat(5), '👩‍👩‍👧‍👦']],
  ['into one line when there is nothing', '', ['']],
])('a text is broken %s', async (_, text, lines) => {
  expect(await wrap(text)).toEqual(lines);
});

test('a long word is kept whole where it may be copied', async () => {
  expect(await wrap('an 0123456789abcdef id', { longWords: 'keep' })).toEqual(['an 0123456789abcdef', 'id']);
});

test('where there is no terminal only line feeds end a line', async () => {
  const text = `${'word '.repeat(100)}\nend`;
  expect(await wrap(text, { columns: Number.POSITIVE_INFINITY })).toEqual([text.split('\n')[0]?.trimEnd(), 'end']);
});

test('a very long text is broken in linear time', async () => {
  expect((await wrap('word '.repeat(200_000), { columns: 80 })).length).toBeGreaterThan(12_000);
  expect((await wrap('日'.repeat(300_000))).length).toBeGreaterThan(60_000);
  expect(await wrap('x'.repeat(200_000), { columns: 102 })).toHaveLength(2_000);
});

test('tabs reach to the next stop of eight columns, wide characters counted', async () => {
  const ruler = await wideRuler();
  expect(expandTabs('a\tb\n日本\tc\t\n12345678\tx', ruler)).toBe('a       b\n日本    c       \n12345678        x');
});

test('a long word is broken between whole characters, however long it is', async () => {
  const family = '👩‍👩‍👧‍👦';
  const lines = await wrap(family.repeat(500), { indent: 0 });
  expect(new Set(lines)).toEqual(new Set([family.repeat(5)]));
});
