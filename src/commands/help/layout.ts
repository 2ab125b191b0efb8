/**
 * Lays out pages of help with the means of commander: at most 80 columns wide, also on a wider terminal, and broken at
 * blanks. A word that is longer than a line has a line of its own.
 */
import type { Command, Help } from 'commander';
import type { List, Page } from './page.ts';

const WIDEST = 80;
const INDENT = 2;
const GAP = 2;
/** A description with less room than this, or than its longest word, stands below its term. */
const LEAST_DESCRIPTION = 30;
/** A longer term has a line of its own, so that it does not move all descriptions to the right. */
const LONGEST_TERM = 30;

/** Commander's part of the layout, for one width. */
export type Layout = Help & { helpWidth: number };

/** @param columns of the terminal; undefined where there is none */
export function layoutFor(command: Command, columns: number | undefined): Layout {
  const helpWidth = Math.min(columns || WIDEST, WIDEST);
  return Object.assign(command.createHelp(), { helpWidth, minWidthToWrap: 1, formatItem });
}

export function pageText(page: Page, layout: Layout): string {
  const parts = page.map((part) => (typeof part === 'string' ? indented(part, 0, layout) : listText(part, layout)));
  return `${parts.join('\n\n')}\n`;
}

/** The columns that the terms of a list take. */
export function termWidthOf(items: List['items']): number {
  return Math.max(0, ...items.map(([term]) => term.length).filter((length) => length <= LONGEST_TERM));
}

function listText({ title, items, below, termWidth }: List, layout: Layout): string {
  const width = below ? layout.helpWidth : (termWidth ?? termWidthOf(items));
  const lines = items.map(([term, description]) => layout.formatItem(term, width, description, layout));
  return [indented(title, 0, layout), ...lines].join('\n');
}

/** Commander's own, but for a long term, and for a description without room beside its term. */
function formatItem(this: Layout, term: string, termWidth: number, description: string): string {
  const head = indented(term, INDENT, this);
  if (description === '') return head;
  const longestWord = Math.max(...description.split(/\s+/).map((word) => word.length));
  const isBelow = this.helpWidth - INDENT - termWidth - GAP < Math.max(LEAST_DESCRIPTION, longestWord);
  const column = isBelow ? 3 * INDENT : INDENT + termWidth + GAP;
  const text = indented(description, column, this);
  return isBelow || term.length > termWidth ? `${head}\n${text}` : head.padEnd(column) + text.slice(column);
}

function indented(text: string, columns: number, layout: Layout): string {
  const lines = layout.boxWrap(text, Math.max(layout.helpWidth - columns, 1)).split('\n');
  return lines.map((line) => (line === '' ? '' : ' '.repeat(columns) + line)).join('\n');
}
