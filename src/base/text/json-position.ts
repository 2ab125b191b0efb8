/** `message`: of the error of JSON.parse; null where it has no position. */
export function positionInJson(text: string, message: string): string | null {
  const position = / position (\d+)/.exec(message)?.[1];
  return position === undefined ? null : positionAt(text, Number(position));
}

/** @param offset in UTF-16 units */
export function positionAt(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
}
