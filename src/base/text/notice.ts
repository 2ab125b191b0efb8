import { jsonLine, safeText } from './safe-text.ts';
import { wrap } from './width.ts';

export type Tone = 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent';

/** Puts escape sequences around a text that is already safe. */
export type Palette = Readonly<Record<Tone, (text: string) => string>>;

const same = (text: string): string => text;

export const NO_COLORS: Palette = {
  dim: same,
  bold: same,
  good: same,
  bad: same,
  warn: same,
  accent: same,
};

export function isForPrograms(format: string | undefined): boolean {
  return format === 'json' || format === 'ndjson';
}

/** `columns`: of a terminal, which gets as many lines as the text needs. */
export function noticeLine(text: string, format: string | undefined, columns?: number): string {
  if (isForPrograms(format)) return jsonLine({ notice: text });
  return `${plainLines(text, columns)}\n`;
}

export function warningLine(
  text: string,
  format: string | undefined,
  palette: Palette = NO_COLORS,
  columns?: number,
): string {
  if (isForPrograms(format)) return jsonLine({ notice: text, level: 'warning' });
  const label = 'warning:';
  return `${palette.warn(label)}${plainLines(`${label} ${text}`, columns).slice(label.length)}\n`;
}

function plainLines(text: string, columns = 0): string {
  return wrap(safeText(text.replaceAll('\r\n', '\n')), columns || Number.POSITIVE_INFINITY, 2);
}
