import stringWidth from 'fast-string-width';
import { cut } from './well-formed.ts';

const LONGEST_MEASURED = 4096;
/** The terminal breaks the lines where less is left beside the indentation. */
const LEAST_COLUMNS = 16;
/** Of a text that would be narrower than this, and of a word that does not fit otherwise. */
const NARROW = 24;
const LEAST_INDENT = 2;

export function widthOf(text: string): number {
  return stringWidth(text);
}

/** Cuts the end or the front to at most `columns`, with `…` in place of what was cut. */
export function truncate(text: string, columns: number, side: 'end' | 'front' = 'end'): string {
  const measured = cut(text, side === 'end' ? LONGEST_MEASURED : -LONGEST_MEASURED);
  if (measured.length === text.length && widthOf(text) <= columns) return text;
  if (columns < 1) return '';
  const segments = new Intl.Segmenter().segment(measured);
  const kept: string[] = [];
  let used = 0;
  for (const { segment } of side === 'end' ? segments : [...segments].reverse()) {
    used += widthOf(segment);
    if (used > columns - 1) break;
    kept.push(segment);
  }
  kept.push('…');
  return (side === 'end' ? kept : kept.reverse()).join('');
}

/** At most `columns` a part; a character that is wider is a part of its own. */
export function chunksOf(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const chunks: string[] = [];
  let chunk = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const width = widthOf(segment);
    if (used > 0 && used + width > columns) {
      chunks.push(chunk);
      chunk = '';
      used = 0;
    }
    chunk += segment;
    used += width;
  }
  return [...chunks, chunk];
}

/**
 * A word that is too long for a line has one of its own; the terminal breaks it, and copies it as
 * one word.
 */
export function wrap(text: string, columns: number, wanted: number): string {
  const indent = columns - wanted < NARROW ? Math.min(wanted, LEAST_INDENT) : wanted;
  const isBroken = Number.isFinite(columns) && columns - indent >= LEAST_COLUMNS;
  const lines = isBroken
    ? brokenLines(text, columns, indent)
    : text.split('\n').map((line) => line.trimEnd());
  return lines
    .map((line, index) => {
      if (index === 0 || line === '') return line;
      const isLong = isBroken && widthOf(line) > columns - indent;
      return ' '.repeat(isLong ? Math.min(indent, LEAST_INDENT) : indent) + line;
    })
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
      const isBetterBelow = width <= columns - LEAST_INDENT || used > indent;
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
