/** Reading members of untrusted events, with texts that name the place of what is wrong. */
import type { ReplayStep } from './steps.ts';

/** A trajectory that cannot be replayed. The message is made to be shown to the user. */
export class ReplayError extends Error {}

/** What one event means for a replay. */
export type Reading = { type: 'step'; step: ReplayStep } | { type: 'user'; text: string } | { type: 'skipped' };

export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member that must be a text. */
export function text(record: JsonRecord, name: string, where: string): string {
  const value = record[name];
  if (typeof value === 'string') return value;
  throw new ReplayError(`${where}: "${name}" must be a string${value === undefined ? ' and is missing' : ''}`);
}

/** A member that may be missing or null. */
export function optionalText(record: JsonRecord, name: string, where: string): string | undefined {
  return record[name] === undefined || record[name] === null ? undefined : text(record, name, where);
}

export function optionalNumber(record: JsonRecord, name: string, where: string): number | undefined {
  const value = record[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  throw new ReplayError(`${where}: "${name}" must be a number that is not negative`);
}

export function optionalRange(record: JsonRecord, name: string, where: string): [number, number] | undefined {
  const value = record[name];
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.length === 2 && value.every(Number.isInteger)) return value as [number, number];
  throw new ReplayError(`${where}: "${name}" must hold two whole numbers`);
}

export function recordMember(record: JsonRecord, name: string, where: string): JsonRecord {
  const value = record[name];
  if (isRecord(value)) return value;
  throw new ReplayError(`${where}: "${name}" must be an object${value === undefined ? ' and is missing' : ''}`);
}

/** The texts of a list of contents, joined; anything but text is left out. */
export function contentText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value.flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : [])).join('\n');
}
