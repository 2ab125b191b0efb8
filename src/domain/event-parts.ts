/** Readers for parts of an event whose shape is not specified. */
export type Members = Record<string, unknown>;

export function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text itself; anything else is the empty text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const MOST_CHARACTERS = 400;

/** The first line that is not blank; `…` marks that more follows. */
export function firstLine(text: string): string {
  const trimmed = text.trim();
  const end = trimmed.search(/[\r\n]/);
  const line = end === -1 ? trimmed : `${trimmed.slice(0, end).trimEnd()} …`;
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}
