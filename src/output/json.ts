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
