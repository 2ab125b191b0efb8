/**
 * Readers for JSON of another program: only members that are used are checked; unknown members and words are accepted.
 * A wrong shape throws a ShapeError that names the place; callers convert it to their own error.
 */

export type Json = Record<string, unknown>;

const TAG = 'acs.ShapeError';

export class ShapeError extends Error {
  readonly tag = TAG;

  constructor(place: string, expected: string) {
    super(`${place} is not ${expected}`);
    this.name = 'ShapeError';
  }
}

export function isShapeError(error: unknown): error is ShapeError {
  return error instanceof Error && (error as { tag?: unknown }).tag === TAG;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asRecord(value: unknown, place: string): Json {
  if (!isRecord(value)) throw new ShapeError(place, 'an object');
  return value;
}

export function asList(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw new ShapeError(place, 'a list');
  return value;
}

/** A text that has to be there and not be empty: an id, a status. */
export function requiredText(record: Json, name: string, place: string): string {
  const value = record[name];
  if (typeof value !== 'string' || value === '') throw new ShapeError(`${place}.${name}`, 'a text');
  return value;
}

/** A text, or null when it is missing or null. */
export function optionalText(record: Json, name: string, place: string): string | null {
  const value = record[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new ShapeError(`${place}.${name}`, 'a text or null');
  return value;
}

export function optionalNumber(record: Json, name: string, place: string): number | null {
  const value = record[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number') throw new ShapeError(`${place}.${name}`, 'a number or null');
  return value;
}

export function optionalRecord(record: Json, name: string, place: string): Json | null {
  const value = record[name];
  return value === undefined || value === null ? null : asRecord(value, `${place}.${name}`);
}

/** A list of texts; missing or null is the empty one. */
export function textList(record: Json, name: string, place: string): string[] {
  const value = record[name];
  if (value === undefined || value === null) return [];
  return asList(value, `${place}.${name}`).map((item) => {
    if (typeof item !== 'string') throw new ShapeError(`${place}.${name}`, 'a list of texts');
    return item;
  });
}

/** `{items, next_page_id}` of V1 and the agent server; `results` is what V0 and some old V1 servers say. */
export function readPage<T>(
  value: unknown,
  place: string,
  read: (item: unknown, place: string) => T,
): { items: T[]; next: string | null } {
  const record = asRecord(value, place);
  const items = asList(record['items'] ?? record['results'], `${place}.items`);
  return {
    items: items.map((item, index) => read(item, `${place}.items[${index}]`)),
    next: optionalText(record, 'next_page_id', place),
  };
}

/** A batch get: the records in the order of the ids, null for unknown ids. */
export function readBatch<T>(value: unknown, place: string, read: (item: unknown, place: string) => T): (T | null)[] {
  return asList(value, place).map((item, index) => (item === null ? null : read(item, `${place}[${index}]`)));
}
