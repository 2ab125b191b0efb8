/** A text of which at most so much is shown, and what is left out. */
export interface Clipped {
  text: string;
  /** Characters that are not in `text`. */
  left: number;
}

const MOST_CHARACTERS = 20_000;
const MOST_LINES = 400;

/** The beginning of a text, in whole lines where they are not too long. */
export function clipped(text: string, mostCharacters = MOST_CHARACTERS, mostLines = MOST_LINES): Clipped {
  let end = Math.min(text.length, mostCharacters);
  let at = -1;
  for (let line = 0; line < mostLines; line += 1) {
    at = text.indexOf('\n', at + 1);
    if (at === -1 || at > end) break;
    if (line === mostLines - 1) end = at;
  }
  if (end < text.length && text[end] !== '\n') {
    const lineEnd = text.lastIndexOf('\n', end);
    if (lineEnd > mostCharacters / 2) end = lineEnd;
  }
  return { text: text.slice(0, end), left: text.length - end };
}
