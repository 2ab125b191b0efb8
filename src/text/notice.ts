/** A notice on stderr: a plain line, or one JSON object for programs. */
import { escapeJson, safeMultiline, safeText } from './safe-text.ts';
import { roughRuler } from './width.ts';
import { wrapLines } from './wrap.ts';

/** With json and ndjson stderr is for programs too. */
export function isForPrograms(format: string | undefined): boolean {
  return format === 'json' || format === 'ndjson';
}

const INDENT = 2;
/** With fewer columns than this beside the indentation, wrapping is left to the terminal. */
const LEAST_ROOM = 16;

/**
 * Safe, further lines indented, and for a terminal of so many columns broken at words. It is measured without the
 * library that measures every script: notices must not wait for it to load.
 */
export function plainLines(text: string, columns = 0): string {
  const safe = safeText(text.replaceAll('\r\n', '\n'));
  if (columns < LEAST_ROOM + INDENT || safe.includes('\t')) return safeMultiline(text);
  return wrapLines(safe, { columns, indent: INDENT, longWords: 'keep' }, roughRuler())
    .map(({ start, end }) => safe.slice(start, end))
    .join(`\n${' '.repeat(INDENT)}`);
}

/** One line: the text, or `{"notice":…}`; on a terminal of so many columns as many as the text needs. */
export function noticeLine(text: string, format: string | undefined, columns?: number): string {
  if (isForPrograms(format)) return `${escapeJson(JSON.stringify({ notice: text }))}\n`;
  return `${plainLines(text, columns)}\n`;
}
