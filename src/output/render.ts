/** Views as text for people: tables, key and value rows, lines of a stream. Pure: no streams, no clock. */
import type { Palette, Tone } from '../text/palette.ts';
import { safeLine } from '../text/safe-text.ts';
import { rulerFor } from '../text/width.ts';
import { exactCell, shortCell } from './cell.ts';
import { fitColumns } from './columns.ts';
import { renderParts } from './lines.ts';
import type { Field, LinePart, View } from './view.ts';

export interface Look {
  /** Columns of the terminal; Infinity where there is none. */
  width: number;
  palette: Palette;
  nowMs: number;
}

/** What is of no use when it is cut: an id is there to be typed. */
const WHOLE: ReadonlySet<string> = new Set(['id', 'status', 'time']);
const MOST_WHOLE = 16;

/** Header and rows, each line at most `width` wide; ids are shortened where there is a terminal. */
export async function renderTable<T>(fields: readonly Field<T>[], items: readonly T[], look: Look): Promise<string> {
  const columns = fields.map((field) => columnOf(field, items, look));
  const ruler = await rulerFor(columns.flatMap((column) => [column.heading, ...column.cells]));
  const widths = fitColumns(
    columns.map(({ heading, cells, field }) => {
      const natural = Math.max(1, ruler.width(heading), ...cells.map((cell) => ruler.width(cell)));
      const whole = WHOLE.has(field.as ?? 'text') ? { minimum: Math.min(natural, MOST_WHOLE) } : {};
      return { natural, weight: field.weight ?? 1, isEmpty: cells.every((cell) => cell === ''), ...whole };
    }),
    look.width,
  );
  const shown = columns.flatMap((column, index) => {
    const width = widths[index];
    return width === null || width === undefined ? [] : [{ ...column, width }];
  });
  const cell = (text: string, width: number, paint: (text: string) => string) => {
    const cut = ruler.truncate(text, width);
    return { text: cut, width: ruler.width(cut), paint };
  };
  const { drawTable } = await import('./table.ts');
  const lines = drawTable(
    [
      shown.map(({ heading, width }) => cell(heading, width, look.palette.dim)),
      ...items.map((_, row) =>
        shown.map(({ cells, field, width }) =>
          cell(cells[row] ?? '', width, painter(field, cells[row] ?? '', look.palette)),
        ),
      ),
    ],
    shown.map(({ width }) => width),
  );
  return `${lines.join('\n')}\n`;
}

function columnOf<T>(field: Field<T>, items: readonly T[], look: Look) {
  const cells = items.map((item) => shortCell(field, item, look.nowMs));
  return {
    field,
    heading: field.name.toUpperCase().replaceAll('_', ' '),
    cells: field.as === 'id' && Number.isFinite(look.width) ? shortenIds(cells) : cells,
  };
}

/** Key and value rows of one thing. Values are never cut: a long one continues on the next lines. */
export async function renderPairs<T>(fields: readonly Field<T>[], item: T, look: Look): Promise<string> {
  const keys = fields.map((field) => field.name.replaceAll('_', ' '));
  const keyWidth = Math.max(0, ...keys.map((key) => key.length));
  const rows = fields.map((field, index) => [
    { text: (keys[index] ?? '').padEnd(keyWidth), tone: 'dim' as const },
    { text: '  ' },
    ...pairValue(field, item, look),
  ]);
  // What stands here is there to be copied: words stay whole.
  return await renderParts(rows, look, { indent: keyWidth + 2, longWords: 'keep' });
}

function pairValue<T>(field: Field<T>, item: T, look: Look): LinePart[] {
  const text = shortCell(field, item, look.nowMs);
  const tone = toneOf(field, text);
  if (field.as !== 'time' || text === '') return [tone ? { text, tone } : { text }];
  const exact = exactCell(field, item);
  if (exact === text || exact.startsWith(text)) return [{ text: exact }];
  return [{ text: `${exact} ` }, { text: `(${text})`, tone: 'dim' }];
}

/** No header, tabs between, nothing cut. */
export function renderTsv<T>(fields: readonly Field<T>[], items: readonly T[]): string {
  return items.map((item) => `${fields.map((field) => exactCell(field, item)).join('\t')}\n`).join('');
}

/** Ids, one a line; something without an id has no line. */
export function renderIds<T>(view: View<T>, items: readonly T[]): string {
  return items
    .map((item) => safeLine(view.id(item)))
    .filter((id) => id !== '')
    .map((id) => `${id}\n`)
    .join('');
}

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  starting: 'accent',
  running: 'accent',
  finished: 'good',
  ok: 'good',
  waiting: 'warn',
  failed: 'bad',
  stuck: 'bad',
  error: 'bad',
  missing: 'bad',
  idle: 'dim',
  paused: 'dim',
  stopped: 'dim',
  archived: 'dim',
};

function painter<T>(field: Field<T>, text: string, palette: Palette): (text: string) => string {
  const tone = toneOf(field, text);
  return tone ? palette[tone] : (plain) => plain;
}

function toneOf<T>(field: Field<T>, text: string): Tone | undefined {
  return field.as === 'status' ? STATUS_TONES[text] : field.as === 'time' ? 'dim' : undefined;
}

/** Ids in a table have at least this many characters. */
const SHORTEST_ID = 8;

/** Prefixes of the ids, as short as they can be and still be typed back: all of one length at which different ids stay different. */
export function shortenIds(ids: readonly string[]): string[] {
  const distinct = new Set(ids);
  const longest = Math.max(0, ...ids.map((id) => id.length));
  let length = SHORTEST_ID;
  while (length < longest && new Set([...distinct].map((id) => id.slice(0, length))).size < distinct.size) length += 1;
  return ids.map((id) => id.slice(0, length));
}
