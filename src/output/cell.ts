/** One value as text: exact for scripts, short for people. */
import { byteSize } from '../text/byte-size.ts';
import { safeLine } from '../text/safe-text.ts';
import { normalizeTime, parseTime, relativeTime } from '../text/time.ts';
import { formatUsd } from '../text/usd.ts';
import type { Field } from './view.ts';

/** For tsv: nothing shortened, null is empty, `\t \n \r \\` escaped, other control characters as `\x1b`. */
export function exactCell<T>(field: Field<T>, item: T): string {
  const value = field.get(item);
  const text =
    field.as === 'time' ? (normalizeTime(plainText(value, ',')) ?? plainText(value, ',')) : plainText(value, ',');
  return safeLine(text.replaceAll('\\', '\\\\'));
}

/** For a terminal: one line of safe text; null is empty. */
export function shortCell<T>(field: Field<T>, item: T, nowMs: number): string {
  const value = field.get(item);
  if (value === null || value === undefined) return '';
  return safeLine(shortText(field, value, nowMs)).trimEnd();
}

function shortText<T>(field: Field<T>, value: unknown, nowMs: number): string {
  switch (field.as) {
    case 'time': {
      const ms = parseTime(String(value));
      return ms === null ? String(value) : relativeTime(ms, nowMs);
    }
    case 'usd':
      return typeof value === 'number' ? formatUsd(value) : plainText(value, ', ');
    case 'bytes':
      return typeof value === 'number' ? byteSize(value) : plainText(value, ', ');
    case 'json':
      return JSON.stringify(value);
    default:
      return typeof value === 'boolean' ? (value ? 'yes' : 'no') : collapsed(readable(value));
  }
}

/** A title with line breaks reads as one line; the exact text is in the other formats. */
function collapsed(text: string): string {
  return text.replace(/[ \t]*\r?\n\s*/g, ' ').replaceAll('\t', ' ');
}

/** Objects as people read them: `input: 3, output: 4`; what is nested deeper stays JSON. */
function readable(value: unknown): string {
  if (Array.isArray(value)) return value.map(readable).join(', ');
  if (typeof value !== 'object' || value === null) return plainText(value, ', ');
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  if (members.some(([, member]) => typeof member === 'object')) return plainText(value, ', ');
  return members.map(([name, member]) => `${name}: ${plainText(member, ', ')}`).join(', ');
}

function plainText(value: unknown, separator: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) return value.join(separator);
  return JSON.stringify(value) ?? '';
}
