/** Where a text is broken into lines of a terminal: at words, and inside one only when it fits no line. */
import type { Ruler } from './width.ts';

export interface Room {
  /** Columns of the terminal; Infinity where nothing is broken. */
  columns: number;
  /** Columns that are taken at the start of each line but the first. */
  indent: number;
  /**
   * How a word longer than a line is handled: broken at the end of the line, or left to the terminal, which copies it as
   * one word. An address (`https://…`) is always kept.
   */
  longWords: 'break' | 'keep';
}

/** A line as a part of the text: offsets in UTF-16 code units, without the blanks at its end. */
export interface Line {
  start: number;
  end: number;
}

// Chinese and Japanese are written without blanks and broken between characters, but not after an opening bracket or
// before what closes.
const OPENING = '〈《「『【〔（［｛';
const CLOSING = '、。〉》」』】〕！），．：；？］｝ー…,.;:!?)\\]}';
const IDEOGRAPH = '\\u3000-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uff01-\\uff60';
const TOKEN = new RegExp(`( +)|[${OPENING}]*[${IDEOGRAPH}][${CLOSING}]*|[^ ${IDEOGRAPH}]+`, 'gu');

/**
 * @param text safe text; line feeds end lines, tabs are expanded already
 * @returns at least one line
 */
export function wrapLines(text: string, room: Room, ruler: Ruler): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (const paragraph of text.split('\n')) {
    const first = lines.length === 0 ? 0 : room.indent;
    const broken =
      Number.isFinite(room.columns) && first + ruler.width(paragraph) > room.columns
        ? breakParagraph(paragraph, first, room, ruler)
        : [{ start: 0, end: paragraph.trimEnd().length }];
    for (const line of broken) lines.push({ start: start + line.start, end: start + line.end });
    start += paragraph.length + 1;
  }
  return lines;
}

/** @param first columns taken at the start of its first line */
function breakParagraph(paragraph: string, first: number, room: Room, ruler: Ruler): Line[] {
  const lines: Line[] = [];
  let used = first;
  let line: Line = { start: 0, end: 0 };
  const next = (start: number): void => {
    lines.push(line);
    line = { start, end: start };
    used = room.indent;
  };
  for (const { 0: token, 1: blanks, index } of paragraph.matchAll(TOKEN)) {
    const width = ruler.width(token);
    if (blanks !== undefined) {
      used += width; // they are part of the line once a word follows there
    } else if (used + width <= room.columns || (isKept(token, room) && room.indent + width > room.columns)) {
      line.end = index + token.length;
      used += width;
    } else if (room.indent + width <= room.columns) {
      // A word that its own indentation leaves no place is not worth an empty line before it.
      if (line.end === line.start) [line, used] = [{ start: index, end: index }, first];
      else next(index);
      line.end = index + token.length;
      used += width;
    } else {
      for (const { segment, index: offset } of graphemes(token)) {
        const character = ruler.width(segment);
        if (used + character > room.columns && line.end > line.start) next(index + offset);
        line.end = index + offset + segment.length;
        used += character;
      }
    }
  }
  return [...lines, line];
}

/** The segmenter reads all of its text for each step, so a long word is given to it in pieces. */
const PIECE = 512;

function* graphemes(text: string): Generator<{ segment: string; index: number }, void, void> {
  const segmenter = new Intl.Segmenter();
  for (let start = 0; start < text.length;) {
    const found = [...segmenter.segment(text.slice(start, start + PIECE))];
    // The last word of a piece may continue in the next one.
    if (start + PIECE < text.length && found.length > 1) found.pop();
    for (const { segment, index } of found) yield { segment, index: start + index };
    start += found.reduce((length, { segment }) => length + segment.length, 0);
  }
}

function isKept(word: string, { longWords }: Room): boolean {
  return longWords === 'keep' || /^\W*[a-z][a-z\d+.-]*:\/\//i.test(word);
}

/** Tabs as blanks up to the next multiple of eight columns of each line of the text, which may stand indented. */
export function expandTabs(text: string, ruler: Ruler): string {
  if (!text.includes('\t')) return text;
  const expandLine = (line: string): string =>
    line.split('\t').reduce((expanded, part) => expanded + ' '.repeat(8 - (ruler.width(expanded) % 8)) + part);
  return text.split('\n').map(expandLine).join('\n');
}
