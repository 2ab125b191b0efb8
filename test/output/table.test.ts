import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { fitColumns, GAP } from '../../src/output/columns.ts';
import { renderTable, shortenIds } from '../../src/output/render.ts';
import type { Field } from '../../src/output/view.ts';
import { coloredPalette } from '../../src/terminal/palette.ts';

const PIECES = [
  'word',
  ' ',
  '日本',
  '👩‍👩‍👧‍👦',
  '🇩🇪',
  'e\u0301',
  '\u0301\u0301',
  '\x1b[2J',
  '\u009b',
  '\u202e',
  '\u200d',
  '\r\n',
  '\t',
  '\ue000',
  'ﾊﾟ',
  '한',
  'ᄀ',
  'ᅡ',
  'क्षि',
  '\ud83d',
  '…',
  '❤️',
  '1️⃣',
  '\0',
];

/** Anything that acts on a terminal, once the colours of acs are taken off. */
const HARMFUL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

test('no line is wider than the terminal or has control characters, whatever the cells have', async () => {
  const random = randomFrom(20);
  const pick = (below: number) => Math.floor(random() * below);
  for (let round = 0; round < 400; round += 1) {
    const columns = 1 + pick(6);
    const fields: Field<string[]>[] = Array.from({ length: columns }, (_, index) => ({
      name: `field_${'x'.repeat(pick(9))}${index}`,
      get: (row) => row[index] ?? null,
      as: (['text', 'id', 'status', 'time'] as const)[pick(4)],
      weight: pick(4),
    }));
    const rows = Array.from({ length: pick(5) + 1 }, () =>
      Array.from({ length: columns }, () =>
        Array.from({ length: pick(20) }, () => PIECES[pick(PIECES.length)]).join(''),
      ),
    );
    const width = 1 + pick(100);
    const table = await renderTable(fields, rows, { width, palette: await coloredPalette(), nowMs: 0 });
    const lines = stripVTControlCharacters(table).split('\n');
    expect(lines).toHaveLength(rows.length + 2);
    for (const line of lines) {
      expect(stringWidth(line)).toBeLessThanOrEqual(width);
      expect(line).not.toMatch(HARMFUL);
    }
  }
});

test('columns are aligned although cells have wide, combining or joined characters', async () => {
  const fields: Field<string>[] = [
    { name: 'a', get: (row) => row },
    { name: 'b', get: () => '|' },
  ];
  const rows = ['plain', '日本語', '👩‍👩‍👧‍👦', 'e\u0301', '🇩🇪 x', 'ﾊﾟ', '한국', '\ue000', '1️⃣'];
  const table = await renderTable(fields, rows, { width: 40, palette: await coloredPalette(), nowMs: 0 });
  const [, ...lines] = stripVTControlCharacters(table).trimEnd().split('\n');
  expect(lines.map((line) => stringWidth(line.slice(0, line.indexOf('|'))))).toEqual(rows.map(() => 8));
});

test('ten thousand rows are one table', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => `row ${index}`);
  const table = await renderTable<string>([{ name: 'a', get: (row) => row }], rows, {
    width: 80,
    palette: await coloredPalette(),
    nowMs: 0,
  });
  expect(stripVTControlCharacters(table).split('\n')).toEqual(['A', ...rows, '']);
});

test('widths fill the terminal, keep fixed columns whole and give the rest by weight', () => {
  const id = { natural: 12, weight: 0 };
  const long = { natural: 100, weight: 3 };
  const short = { natural: 100, weight: 1 };
  expect(fitColumns([id, long, short], 120)).toEqual([12, 78, 26]);
  expect(fitColumns([id, long, { natural: 8, weight: 1 }], 60)).toEqual([12, 36, 8]);
  expect(fitColumns([id, long, short], Number.POSITIVE_INFINITY)).toEqual([12, 100, 100]);
  expect(fitColumns([{ ...id, minimum: 12 }, long, short], 25)).toEqual([12, 11, null]);
  expect(fitColumns([id, id], 20)).toEqual([9, 9]);
  expect(fitColumns([id, long], 3)).toEqual([3, null]);
  expect(GAP).toBe(2);
});

test('columns are left out from the right before an id is cut', () => {
  const needs = [
    { natural: 8, weight: 3, minimum: 8 },
    { natural: 7, weight: 0, minimum: 7 },
    { natural: 10, weight: 2 },
    { natural: 14, weight: 0, minimum: 14 },
    { natural: 30, weight: 2 },
  ];
  expect(fitColumns(needs, 80)).toEqual([8, 7, 10, 14, 30]);
  expect(fitColumns(needs, 60)).toEqual([8, 7, 10, 14, 13]);
  expect(fitColumns(needs, 44)).toEqual([8, 7, 9, 14, null]);
  expect(fitColumns(needs, 40)).toEqual([8, 7, 5, 14, null]);
  expect(fitColumns(needs, 36)).toEqual([8, 7, 10, null, null]);
  expect(fitColumns(needs, 10)).toEqual([8, null, null, null, null]);
});

test('ids are shortened to the shortest unique prefixes', () => {
  expect(shortenIds(['aaaaaaaabbbb', 'aaaaaaaacccc'])).toEqual(['aaaaaaaab', 'aaaaaaaac']);
  expect(shortenIds(['1111111111', '2222222222'])).toEqual(['11111111', '22222222']);
  expect(shortenIds(['same-id-of-two', 'same-id-of-two'])).toEqual(['same-id-', 'same-id-']);
  expect(shortenIds(['abc', ''])).toEqual(['abc', '']);
});

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
