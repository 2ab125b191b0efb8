import { AppError } from '../base/errors.ts';
import type { Tone } from '../base/text/notice.ts';

/** Without `get` the value is the member of the same name. */
export type Field<T> = FieldForm & {
  /** What tables and rows of keys have instead, except with --fields; null leaves the row out. */
  show?(item: T): unknown;
} & ({ name: string; get(item: T): unknown } | { name: keyof T & string; get?: undefined });

interface FieldForm {
  /** Name in json, tsv order, --fields. */
  name: string;
  /** In a column heading in upper case; default: the name with spaces. */
  label?: string;
  as?: 'text' | 'id' | 'time' | 'status' | 'usd' | 'number' | 'bytes' | 'json';
  /** Columns with a higher weight keep their width longer; 0 = never cut. */
  weight?: number;
  /** Where a cell that is too wide is cut; default: at its end. */
  cut?: 'front';
  json?: JsonShape;
}

export interface JsonShape {
  list?: true;
  members?: readonly string[];
}

export interface RecordShape {
  noun: string;
  fields: readonly { name: string; json?: JsonShape }[];
}

export interface View<T> {
  noun: string;
  id(item: T): string;
  /** All fields, in the order of JSON and tsv: appending is free, reordering a breaking change. */
  fields: readonly Field<T>[];
  /** All fields when it is not given. */
  table?: readonly string[];
  /** All fields when it is not given. Columns only grow rightwards. */
  tsv?: readonly string[];
  record?(item: T): unknown;
  line?(item: T): LinePart[];
  lineIndent?: number;
}

export interface LinePart {
  text: string;
  tone?: Tone | undefined;
}

export function labelOf<T>({ label, name }: Field<T>): string {
  return label ?? name.replaceAll('_', ' ');
}

export function valueOf<T>(field: Field<T>, item: T): unknown {
  return field.get === undefined ? item[field.name] : field.get(item);
}

/** Throws `usage` when a name is unknown or given twice. */
export function chosenFields<T>(view: View<T>, names: readonly string[]): Field<T>[] {
  const hint = `fields: ${view.fields.map((known) => known.name).join(', ')}`;
  return names.map((name, index) => {
    const field = view.fields.find((candidate) => candidate.name === name);
    if (!field) throw new AppError('usage', `unknown field "${name}" for ${view.noun}`, { hint });
    if (names.indexOf(name) < index)
      throw new AppError('usage', `duplicate field "${name}" in --fields`, { hint });
    return field;
  });
}

export function jsonRecord<T>(
  view: View<T>,
  item: T,
  names: readonly string[] | undefined,
): Record<string, unknown> {
  if (!names && view.record) return view.record(item) as Record<string, unknown>;
  const fields = names ? chosenFields(view, names) : view.fields;
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field, item) ?? null]));
}

export interface BulkItem {
  id: string;
  ok: boolean;
  changed: boolean;
  before: string | null;
  after: string | null;
  error: { code: string; message: string } | null;
}

export interface BulkResult {
  items: BulkItem[];
  matched: number;
  failed: number;
  /** `changed` is then what would be changed. */
  dry_run?: true;
}

export const bulkView: View<BulkItem> = {
  noun: 'bulk result',
  id: (item) => item.id,
  fields: [
    { name: 'id', as: 'id', weight: 0 },
    { name: 'ok', weight: 0 },
    { name: 'changed', weight: 0 },
    { name: 'before', as: 'status' },
    { name: 'after', as: 'status' },
    {
      name: 'error',
      get: (item) => (item.error ? `${item.error.code}: ${item.error.message}` : null),
      weight: 4,
    },
  ],
  record: (item) => item,
};

export const bulkShape: RecordShape = {
  noun: bulkView.noun,
  fields: [
    { name: 'items', json: { list: true, members: bulkView.fields.map(({ name }) => name) } },
    { name: 'matched' },
    { name: 'failed' },
  ],
};
