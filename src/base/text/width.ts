import stringWidth from 'fast-string-width';
import { cut } from './well-formed.ts';

/** Wider than any terminal. */
const LONGEST_MEASURED = 4096;
/** The terminal breaks the lines where less is left beside the indentation. */
const LEAST_COLUMNS = 16;

export function widthOf(text: string): number {
  return stringWidth(text);
}

/** Cuts to at most `columns`, ending in `…` when something was cut. */
export function truncate(text: string, columns: number): string {
  const measured = cut(text, LONGEST_MEASURED);
  if (measured.length === text.length && widthOf(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(measured)) {
    used += widthOf(segment);
    if (used > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** A word longer than a line is left to the terminal, which copies it as one word. */
export function wrap(text: string, columns: number, indent: number): string {
  const isBroken = Number.isFinite(columns) && columns - indent >= LEAST_COLUMNS;
  const lines = isBroken
    ? brokenLines(text, columns, indent)
    : text.split('\n').map((line) => line.trimEnd());
  return lines
    .map((line, index) => (index === 0 || line === '' ? line : ' '.repeat(indent) + line))
    .join('\n');
}

function brokenLines(text: string, columns: number, indent: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    let used = 0;
    for (const word of paragraph.split(/(?<= )(?=[^ ])/)) {
      const width = widthOf(word.trimEnd());
      const available = lines.length === 0 ? columns : columns - indent;
      const isBetterBelow = width <= columns - indent || used > indent;
      if (line.trim() !== '' && used + width > available && isBetterBelow) {
        lines.push(line.trimEnd());
        line = '';
        used = 0;
      }
      line += word;
      used += width + word.length - word.trimEnd().length;
    }
    lines.push(line.trimEnd());
  }
  return lines;
}
