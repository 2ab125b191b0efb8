/** The place of a JSON syntax error, for people: lines and columns are counted from 1. */

/**
 * @param message of the error of JSON.parse
 * @returns `line 3, column 7`; null where the message has no position
 */
export function placeInJson(text: string, message: string): string | null {
  const position = / position (\d+)/.exec(message)?.[1];
  return position === undefined ? null : placeAt(text, Number(position));
}

/** @param offset in UTF-16 units */
export function placeAt(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
}
