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

/** A copy with `change` applied to each string; names of members stay as they are. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member) => mapStrings(member, change));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapStrings(member, change)]));
}
