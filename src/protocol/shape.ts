// Unknown members are accepted; a wrong shape throws a ShapeError that names the subject.

export type Json = Record<string, unknown>;

const TAG = 'acs.ShapeError';

export class ShapeError extends Error {
  readonly tag = TAG;

  constructor(subject: string, expected: string) {
    super(`${subject} is not ${expected}`);
    this.name = 'ShapeError';
  }
}

export function isShapeError(error: unknown): error is ShapeError {
  return error instanceof Error && (error as { tag?: unknown }).tag === TAG;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined where a part of the path is no object or has no such member. */
export function member(value: unknown, ...path: string[]): unknown {
  return path.reduce((holder, name) => (isRecord(holder) ? holder[name] : undefined), value);
}

export function asRecord(value: unknown, subject: string): Json {
  if (!isRecord(value)) throw new ShapeError(subject, 'an object');
  return value;
}

export function asList(value: unknown, subject: string): unknown[] {
  if (!Array.isArray(value)) throw new ShapeError(subject, 'a list');
  return value;
}

export function requiredText(record: Json, name: string, subject: string): string {
  const value = record[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new ShapeError(`${subject}.${name}`, 'a text');
}

export function optionalText(record: Json, name: string, subject: string): string | null {
  const value = record[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw new ShapeError(`${subject}.${name}`, 'a text or null');
}

export function optionalTexts<const Name extends string>(
  record: Json,
  names: readonly Name[],
  subject: string,
): Record<Name, string | null> {
  const texts = names.map((name) => [name, optionalText(record, name, subject)] as const);
  return Object.fromEntries(texts) as Record<Name, string | null>;
}

export function optionalNumber(record: Json, name: string, subject: string): number | null {
  const value = record[name] ?? null;
  if (value === null || typeof value === 'number') return value;
  throw new ShapeError(`${subject}.${name}`, 'a number or null');
}

export function optionalRecord(record: Json, name: string, subject: string): Json | null {
  const value = record[name] ?? null;
  return value === null ? null : asRecord(value, `${subject}.${name}`);
}

export function textList(record: Json, name: string, subject: string): string[] {
  return asList(record[name] ?? [], `${subject}.${name}`).map((item) => {
    if (typeof item !== 'string') throw new ShapeError(`${subject}.${name}`, 'a list of texts');
    return item;
  });
}

export function withoutNull(record: object): Json {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
}

/** `{items, next_page_id}`; V0 and old V1 servers have `results` in place of `items`. */
export function readPage<T>(
  value: unknown,
  subject: string,
  read: (item: unknown, subject: string) => T,
): { items: T[]; next: string | null } {
  const record = asRecord(value, subject);
  const items = asList(record['items'] ?? record['results'], `${subject}.items`);
  return {
    items: items.map((item, index) => read(item, `${subject}.items[${index}]`)),
    next: optionalText(record, 'next_page_id', subject),
  };
}

export function readBatch<T>(
  value: unknown,
  subject: string,
  read: (item: unknown, subject: string) => T,
): (T | null)[] {
  return asList(value, subject).map((item, index) =>
    item === null ? null : read(item, `${subject}[${index}]`),
  );
}
