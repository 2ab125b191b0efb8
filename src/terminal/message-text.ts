/** Texts of several lines, a cursor in one of them, and those that were entered before. */

export interface TextAndCursor {
  line: string;
  /** In units of UTF-16. */
  cursor: number;
}

export function inserted({ line, cursor }: TextAndCursor, text: string): TextAndCursor {
  return { line: line.slice(0, cursor) + text + line.slice(cursor), cursor: cursor + text.length };
}

/** To the line above, in the same column; null in the first line. */
export function above({ line, cursor }: TextAndCursor): TextAndCursor | null {
  const start = lineStart(line, cursor);
  return start === 0 ? null : { line, cursor: within(line, lineStart(line, start - 1), cursor - start) };
}

/** To the line below, in the same column; null in the last line. */
export function below({ line, cursor }: TextAndCursor): TextAndCursor | null {
  const end = lineEnd(line, cursor);
  return end === line.length ? null : { line, cursor: within(line, end + 1, cursor - lineStart(line, cursor)) };
}

function lineStart(text: string, index: number): number {
  return text.slice(0, index).lastIndexOf('\n') + 1;
}

function lineEnd(text: string, index: number): number {
  const end = text.indexOf('\n', index);
  return end < 0 ? text.length : end;
}

/** So many units into the line that begins at `start`, at most its end, and not within a surrogate pair. */
function within(text: string, start: number, column: number): number {
  const index = Math.min(start + column, lineEnd(text, start));
  return /[\udc00-\udfff]/.test(text[index] ?? '') ? index - 1 : index;
}

export class History {
  private readonly texts: string[] = [];
  /** Behind the newest text: the one that was begun. */
  private place = 0;
  private begun = '';

  /** The text before or after the one that is shown; null where there is none. */
  recall(direction: -1 | 1, shown: string): string | null {
    const place = this.place + direction;
    if (place < 0 || place > this.texts.length) return null;
    if (this.place === this.texts.length) this.begun = shown;
    this.place = place;
    return this.texts[place] ?? this.begun;
  }

  /** Neither empty texts nor the same one twice in a row. */
  add(text: string): void {
    if (text.trim() !== '' && this.texts.at(-1) !== text) this.texts.push(text);
    this.reset();
  }

  /** The next text to be recalled is the newest one. */
  reset(): void {
    this.place = this.texts.length;
    this.begun = '';
  }
}
