import { type Palette, type Tone, isForPrograms, NO_COLORS } from '../base/text/notice.ts';
import { labelOf, valueOf, type Field, type LinePart } from './view.ts';
import { jsonLine, safeLine, safeText } from '../base/text/safe-text.ts';
import { normalizeTime, parseTime, relativeTime } from '../base/text/time.ts';
import { formatUsd } from '../base/text/usd.ts';
import { truncate, widthOf, wrap } from '../base/text/width.ts';
import type { AppError } from '../base/errors.ts';
import { mapStrings } from './json.ts';

export interface Look {
  width: number;
  palette: Palette;
  nowMs: number;
}

const GAP = 2;
/** A column of text narrower than this is not readable. */
const NARROWEST = 5;
/** What is copied from a table as a whole is never cut. */
const URL_CELL = /^https?:\/\/\S+$/;
const WHOLE: ReadonlySet<string> = new Set(['id', 'status', 'time']);
const MOST_WHOLE = 16;
const SHORTEST_ID = 8;

export function renderTable<T>(
  fields: readonly Field<T>[],
  items: readonly T[],
  look: Look,
): string {
  const columns = fields.map((field) => {
    const heading = labelOf(field).toUpperCase();
    const cells = items.map((item) => shortCell(field, item, look.nowMs));
    const shown = field.as === 'id' && Number.isFinite(look.width) ? shortenIds(cells) : cells;
    const natural = Math.max(1, widthOf(heading), ...shown.map(widthOf));
    const least = Math.min(natural, WHOLE.has(field.as ?? 'text') ? MOST_WHOLE : NARROWEST);
    const urls = shown.filter((cell) => URL_CELL.test(cell));
    const minimum = Math.max(least, ...urls.map(widthOf));
    return { field, heading, cells: shown, natural, minimum, weight: field.weight ?? 1 };
  });
  let fitting = columns;
  const fit = (size: 'natural' | 'minimum') =>
    fitting.reduce((sum, column) => sum + column[size], GAP * (fitting.length - 1)) <= look.width;
  if (!fit('natural')) {
    const filled = columns.filter(({ cells }) => cells.some((cell) => cell !== ''));
    if (filled.length > 0) fitting = filled;
  }
  // A view names what matters most first.
  while (fitting.length > 1 && !fit('minimum')) fitting = fitting.slice(0, -1);
  const widths = sharedWidths(fitting, look.width);
  const line = (cells: readonly LinePart[]): string =>
    cells
      .map(({ text, tone }, index) => {
        const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)));
        return (tone ? look.palette[tone](text) : text) + padding;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const headings = fitting.map(({ heading }, index): LinePart => {
    return { text: truncate(heading, widths[index] ?? 0), tone: 'dim' };
  });
  const rows = items.map((_, row) =>
    fitting.map(({ field, cells }, index): LinePart => {
      const cell = cells[row] ?? '';
      const text = URL_CELL.test(cell) ? cell : truncate(cell, widths[index] ?? 0, field.cut);
      return { text, tone: text === '' ? undefined : toneOf(field, cell) };
    }),
  );
  return `${[headings, ...rows].map(line).join('\n')}\n`;
}

function sharedWidths(
  columns: readonly { natural: number; minimum: number; weight: number }[],
  available: number,
): number[] {
  const natural = columns.map((column) => column.natural);
  const gaps = GAP * (columns.length - 1);
  const sum = (numbers: readonly number[]) =>
    numbers.reduce((total, number) => total + number, gaps);
  if (sum(natural) <= available) return natural;
  if (columns.length === 1) return [available];
  const widths = columns.map((column) => column.minimum);
  for (let left = available - sum(widths); left > 0; left -= 1) {
    const open = columns.flatMap((column, index) =>
      (widths[index] ?? 0) < column.natural ? [index] : [],
    );
    const shareOf = (index: number) => (widths[index] ?? 0) / (columns[index]?.weight || Infinity);
    const next = open.reduce((least, index) => (shareOf(index) < shareOf(least) ? index : least));
    widths[next] = (widths[next] ?? 0) + 1;
  }
  return widths;
}

/** The shortest prefixes that can be typed back, all of one length. */
export function shortenIds(ids: readonly string[]): string[] {
  const distinct = new Set(ids);
  let length = SHORTEST_ID;
  while (new Set([...distinct].map((id) => id.slice(0, length))).size < distinct.size) length += 1;
  return ids.map((id) => id.slice(0, length));
}

export function renderPairs<T>(fields: readonly Field<T>[], item: T, look: Look): string {
  const keys = fields.map(labelOf);
  const longest = Math.max(0, ...keys.map((key) => key.length));
  const keyWidth = Math.min(longest, Math.floor(look.width / 2));
  const rows = fields.map((field, index): LinePart[] => {
    const key: LinePart[] = [
      { text: (keys[index] ?? '').padEnd(keyWidth), tone: 'dim' },
      { text: '  ' },
    ];
    const text = shortCell(field, item, look.nowMs);
    if (field.as !== 'time' || text === '') return [...key, { text, tone: toneOf(field, text) }];
    const exact = exactCell(field, item).replace(/\.\d+(?=Z$)/, '');
    if (exact.startsWith(text)) return [...key, { text: exact }];
    return [...key, { text: `${exact} ` }, { text: `(${text})`, tone: 'dim' }];
  });
  return renderLines(rows, look, keyWidth + 2);
}

export function renderLines(
  rows: readonly (readonly LinePart[])[],
  { width, palette }: Pick<Look, 'width' | 'palette'>,
  indent = 2,
): string {
  const painted = ({ text, tone }: LinePart): string => {
    const safe = safeText(text.replaceAll('\r\n', '\n'));
    return tone ? palette[tone](safe) : safe;
  };
  return rows.map((parts) => `${wrap(parts.map(painted).join(''), width, indent)}\n`).join('');
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
  deleting: 'dim',
};

function toneOf<T>(field: Field<T>, text: string): Tone | undefined {
  if (field.as === 'time') return 'dim';
  return field.as === 'status' ? STATUS_TONES[text] : undefined;
}

/** Nothing shortened, null is empty, `\t \n \r \\` escaped, other control characters as `\x1b`. */
export function exactCell<T>(field: Field<T>, item: T): string {
  const text = plainText(valueOf(field, item), ',');
  const exact = field.as === 'time' ? (normalizeTime(text) ?? text) : text;
  return safeLine(exact.replaceAll('\\', '\\\\'));
}

function shortCell<T>(field: Field<T>, item: T, nowMs: number): string {
  const value = valueOf(field, item);
  if (value === null || value === undefined) return '';
  return safeLine(shortText(field, value, nowMs)).trimEnd();
}

function shortText<T>({ as }: Field<T>, value: unknown, nowMs: number): string {
  if (as === 'json') return JSON.stringify(value);
  if (as === 'usd' && typeof value === 'number') return formatUsd(value);
  if (as === 'bytes' && typeof value === 'number') return byteSize(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const ms = as === 'time' ? parseTime(String(value)) : null;
  if (ms !== null) return relativeTime(ms, nowMs);
  return readable(value)
    .replace(/[ \t]*\r?\n\s*/g, ' ')
    .replaceAll('\t', ' ');
}

function readable(value: unknown): string {
  if (Array.isArray(value)) return value.map(readable).join(', ');
  if (typeof value !== 'object' || value === null) return plainText(value, ', ');
  const members = Object.entries(value).filter(
    ([, member]) => member !== null && member !== undefined,
  );
  if (members.some(([, member]) => typeof member === 'object')) return plainText(value, ', ');
  return members.map(([name, member]) => `${name}: ${plainText(member, ', ')}`).join(', ');
}

function plainText(value: unknown, separator: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object'))
    return value.join(separator);
  return JSON.stringify(value) ?? String(value);
}

export function byteSize(bytes: number): string {
  let amount = bytes;
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (amount < 1000)
      return `${unit === 'B' || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}

/** All members, null where they are unknown. */
export function errorRecord(error: AppError): { error: Record<string, unknown> } {
  const { hint, status, request, server, retryable, data } = error.details;
  return {
    error: {
      code: error.kind,
      message: error.message,
      hint: hint ?? null,
      status: status ?? null,
      request: request ?? null,
      retryable: retryable ?? false,
      ...(server !== undefined && { server }),
      ...data,
    },
  };
}

export function errorText(
  error: AppError,
  format: string | undefined,
  look: { palette?: Palette; redact?: (text: string) => string; columns?: number | undefined } = {},
): string {
  const { palette = NO_COLORS, redact = (text: string) => text, columns } = look;
  if (isForPrograms(format)) return jsonLine(mapStrings(errorRecord(error), redact));
  const { request, server, hint } = error.details;
  const further = hint ? hint.split('\n') : [];
  if (request) further.unshift(`request: ${request.method} ${request.url.split('?', 1)[0]}`);
  else if (server !== undefined) further.unshift(`server: ${server}`);
  const message = [{ text: 'error:', tone: 'bad' as const }, { text: ` ${redact(error.message)}` }];
  const rows = [message, ...further.map((text) => [{ text: `  ${redact(text)}` }])];
  return renderLines(rows, { width: columns || Number.POSITIVE_INFINITY, palette });
}
