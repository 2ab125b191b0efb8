/** Text for people that may take several lines of a terminal: continuation lines are indented. */
import type { Palette } from '../text/palette.ts';
import { safeText } from '../text/safe-text.ts';
import { rulerFor } from '../text/width.ts';
import { expandTabs, type Room, wrapLines } from '../text/wrap.ts';
import type { LinePart } from './view.ts';

/** What is left for a text beside its indentation; on a terminal with less the terminal breaks the lines. */
const LEAST_ROOM = 16;

/**
 * One or more lines for each row, broken at words where there is a terminal; further lines of a text are indented, so
 * that they cannot pose as lines of acs.
 */
export async function renderParts(
  rows: readonly (readonly LinePart[])[],
  look: { width: number; palette: Palette },
  layout: Pick<Room, 'indent' | 'longWords'>,
): Promise<string> {
  const safe = rows.map((parts) => parts.map((part) => ({ ...part, text: safeLines(part.text) })));
  const ruler = await rulerFor(safe.flat().flatMap(({ text }) => text.split(/[\n\t]/)));
  const columns = look.width - layout.indent < LEAST_ROOM ? Number.POSITIVE_INFINITY : look.width;
  const isTerminal = Number.isFinite(look.width);
  return safe
    .map((parts) => {
      const shown = isTerminal ? parts.map((part) => ({ ...part, text: expandTabs(part.text, ruler) })) : parts;
      const text = shown
        .map((part) => part.text)
        .join('')
        .trimEnd();
      const lines = wrapLines(text, { ...layout, columns }, ruler).map(({ start, end }, index) => {
        const painted = paint(shown, start, end, look.palette);
        return index === 0 || painted === '' ? painted : ' '.repeat(layout.indent) + painted;
      });
      return `${lines.join('\n')}\n`;
    })
    .join('');
}

function safeLines(text: string): string {
  return safeText(text.replaceAll('\r\n', '\n'));
}

/** The part of the text between two offsets, each piece in its colour: no colour reaches over the end of a line. */
function paint(parts: readonly LinePart[], start: number, end: number, palette: Palette): string {
  let offset = 0;
  return parts
    .map(({ text, tone }) => {
      const piece = text.slice(Math.max(0, start - offset), Math.max(0, end - offset));
      offset += text.length;
      return tone && piece !== '' ? palette[tone](piece) : piece;
    })
    .join('');
}
