/** JSON as users get it: nothing in it can act on a terminal, and one object of a stream is always one line. */
import { escapeJson } from '../text/safe-text.ts';

/** One document, indented by two spaces, with a line feed at its end. */
export function jsonDocument(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

/** One line. */
export function jsonLine(value: unknown): string {
  return `${escapeJson(JSON.stringify(value))}\n`;
}

const DELETE = 0x7f;
/** Of one UTF-16 unit in UTF-8. */
const MOST_BYTES = 3;
const encoder = new TextEncoder();

/**
 * Lines as UTF-8, one for each record. What is to be escaped is looked for in the bytes: in ASCII it is the delete
 * character alone, and bytes are searched many times faster than a string is.
 */
export function jsonLines(records: readonly Record<string, unknown>[]): Uint8Array {
  const pieces = records.flatMap(linePieces);
  const bytes = Buffer.allocUnsafeSlow(MOST_BYTES * pieces.reduce((sum, { length }) => sum + length, 0));
  let size = 0;
  let isSafe = true;
  for (const piece of pieces) {
    const { written } = encoder.encodeInto(piece, bytes.subarray(size));
    const isAscii = written === piece.length;
    isSafe &&= isAscii || escapeJson(piece) === piece;
    size += written;
  }
  const lines = bytes.subarray(0, size);
  return isSafe && !lines.includes(DELETE) ? lines : Buffer.from(escapeJson(pieces.join('')));
}

/**
 * The line of a record. Where the last member is an object (the payload of an event), it is a piece of its own: one
 * character beyond Latin-1 in the members before it makes V8 keep a string with two bytes a character, and such a string
 * is encoded at a third of the speed.
 */
function linePieces(record: Record<string, unknown>): string[] {
  const last = Object.keys(record).at(-1);
  const inner = last === undefined ? undefined : record[last];
  if (last === undefined || typeof inner !== 'object') return [`${JSON.stringify(record)}\n`];
  const line = JSON.stringify({ ...record, [last]: 0 });
  return [line.slice(0, -'0}'.length), `${JSON.stringify(inner)}}\n`];
}

/**
 * The value with `change` applied to each string; names of members stay, and what holds no changed string is not copied.
 * @param isDone values that stay as they are
 */
export function mapStrings(
  value: unknown,
  change: (text: string) => string,
  isDone: (value: object) => boolean = () => false,
): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || isDone(value)) return value;
  let changed: Map<string, unknown> | null = null;
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    const mapped = mapStrings(member, change, isDone);
    if (mapped === member) continue;
    changed ??= new Map();
    changed.set(name, mapped);
  }
  if (changed === null) return value;
  const members = Object.entries(value).map(
    ([name, member]) => [name, changed.has(name) ? changed.get(name) : member] as const,
  );
  return Array.isArray(value) ? members.map(([, member]) => member as unknown) : Object.fromEntries(members);
}
