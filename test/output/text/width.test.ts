import { expect, test } from 'vitest';
import { truncate, widthOf, wrap } from '../../../src/base/text/width.ts';

test.each([
  ['plain', 5],
  ['naïve ąß', 8],
  ['日本語', 6],
  ['e\u0301', 1],
  ['👩‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
  ['ﾊﾟ', 2],
  ['Привет…', 7],
  ['\x1b[31mred\x1b[39m', 3],
  ['', 0],
])('%j takes %i columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
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
])('%s in %i columns is %s', (text, columns, cut) => {
  expect(truncate(text, columns)).toBe(cut);
});

test('a very long text is cut without being measured whole', () => {
  expect(truncate('日'.repeat(1_000_000), 11)).toBe('日日日日日…');
  expect(truncate(`a${'\u0301'.repeat(1_000_000)}`, 11).length).toBeLessThan(5000);
});

test.each([
  ['at words', 'one two three four five', ['one two three four', '  five']],
  ['not at all when it fits', 'one two three 567890', ['one two three 567890']],
  [
    'with less room below the first line',
    `${'0'.repeat(20)} ${'1'.repeat(18)} x`,
    ['0'.repeat(20), `  ${'1'.repeat(18)}`, '  x'],
  ],
  ['at line feeds', 'one\n\ntwo', ['one', '', '  two']],
  [
    'without the blanks at the break',
    'one two three four      five  \nx  ',
    ['one two three four', '  five', '  x'],
  ],
  ['with the indentation of code', '   if x:\n    y()', ['   if x:', '      y()']],
  [
    'but not inside a long word',
    'see https://host.example/a/b/c now',
    ['see', '  https://host.example/a/b/c', '  now'],
  ],
  ['into one line when there is nothing', '', ['']],
])('a text is broken %s', (_, text, lines) => {
  expect(wrap(text, 20, 2).split('\n')).toEqual(lines);
});

test('where there is no terminal only line feeds end a line', () => {
  const text = 'word '.repeat(100);
  expect(wrap(`${text}\nend`, Number.POSITIVE_INFINITY, 2)).toBe(`${text.trimEnd()}\n  end`);
});

test('a very long text is broken in linear time', () => {
  expect(wrap('word '.repeat(200_000), 80, 2).split('\n').length).toBeGreaterThan(12_000);
});

test.each([
  ['/home/me/greeter', 9, '…/greeter'],
  ['/greeter', 8, '/greeter'],
  ['日本語テスト', 6, '…スト'],
  ['abc', 0, ''],
  ['x'.repeat(100_000), 3, '…xx'],
])('%# a text is cut at its front', (text, columns, cut) => {
  expect(truncate(text, columns, 'front')).toBe(cut);
});

test('a narrow text is indented less, and a long word has a line of its own', () => {
  const text = `pass  config  stored in ${'/p'.repeat(14)} now`;
  expect(wrap(text, 30, 14).split('\n')).toEqual([
    'pass  config  stored in',
    `  ${'/p'.repeat(14)}`,
    '  now',
  ]);
  const path = '/p'.repeat(17);
  expect(wrap(`config  ${path} now`, 36, 8).split('\n')).toEqual([
    'config',
    `  ${path}`,
    '        now',
  ]);
});
