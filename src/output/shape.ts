/** Records as text, in the format of the command line. The view decides what is exact for scripts and short for people. */
import { chosenFields, namedFields, recordOf } from './fields.ts';
import { jsonDocument, jsonLine, jsonLines } from './json.ts';
import { renderParts } from './lines.ts';
import { type Look, renderIds, renderPairs, renderTable, renderTsv } from './render.ts';
import type { Field, View } from './view.ts';
import type { Format } from './emitter-options.ts';

export interface Shape {
  format: Format;
  /** The value of --fields. */
  fields: readonly string[] | undefined;
  redact: (text: string) => string;
  /** The value with all its texts redacted. */
  redactValue: (value: unknown) => unknown;
  /** Whether all texts of an item were redacted before: its record is then written as it is. */
  isRedacted: (item: object) => boolean;
  /** Called only for output on a terminal. */
  look: () => Promise<Look>;
}

/** Members of a JSON list besides `items`. */
export type ListMembers = Readonly<Record<string, unknown>>;

/** Null: the list is empty, and a table prints a notice instead. */
export async function listText<T>(
  view: View<T>,
  items: readonly T[],
  members: ListMembers,
  shape: Shape,
): Promise<string | Uint8Array | null> {
  switch (shape.format) {
    case 'json':
    case 'ndjson': {
      const records = items.map((item) => jsonRecord(view, item, shape));
      if (shape.format === 'ndjson') return jsonLines(records);
      return (await import('./json-list.ts')).jsonList(records, redacted(members, shape));
    }
    case 'id':
      return renderIds(view, items);
    case 'tsv':
      return renderTsv(fieldsOf(view, view.tsv, shape), items);
    case 'table':
      if (items.length === 0) return null;
      return await renderTable(fieldsOf(view, view.table, shape), items, await shape.look());
  }
}

/** @param extra further members in JSON, such as `changed` */
export async function itemText<T>(
  view: View<T>,
  item: T,
  extra: Record<string, unknown>,
  shape: Shape,
): Promise<string> {
  switch (shape.format) {
    case 'json':
      return jsonDocument(redacted({ ...recordOf(view, item, shape.fields), ...extra }, shape));
    case 'ndjson':
      return jsonLine(redacted({ ...recordOf(view, item, shape.fields), ...extra }, shape));
    case 'id':
      return renderIds(view, [item]);
    case 'tsv':
      return renderTsv(fieldsOf(view, view.tsv, shape), [item]);
    case 'table': {
      const all = fieldsOf(
        view,
        view.fields.map((field) => field.name),
        shape,
      );
      const shown = shape.fields ? all : all.filter((field) => hasValue(field.get(item)));
      return renderPairs(shown, item, await shape.look());
    }
  }
}

/** Items of a stream, each complete with its line feed. A table here is the default: the view's plain lines. */
export async function linesText<T>(view: View<T>, items: readonly T[], shape: Shape): Promise<string | Uint8Array> {
  const { line } = view;
  if (shape.format !== 'table' || shape.fields || !line) {
    const format = shape.format === 'table' ? 'tsv' : shape.format === 'json' ? 'ndjson' : shape.format;
    return (await listText(view, items, {}, { ...shape, format })) ?? '';
  }
  const rows = items.map((item) => line(item).map((part) => ({ ...part, text: shape.redact(part.text) })));
  return await renderParts(rows, await shape.look(), { indent: view.lineIndent ?? 2, longWords: 'break' });
}

function jsonRecord<T>(view: View<T>, item: T, shape: Shape): Record<string, unknown> {
  const record = recordOf(view, item, shape.fields);
  const isDone = typeof item === 'object' && item !== null && shape.isRedacted(item);
  return isDone ? record : redacted(record, shape);
}

function redacted(record: Readonly<Record<string, unknown>>, { redactValue }: Shape): Record<string, unknown> {
  return redactValue(record) as Record<string, unknown>;
}

function fieldsOf<T>(view: View<T>, names: readonly string[], { fields, redactValue }: Shape): Field<T>[] {
  const chosen = fields ? chosenFields(view, fields) : namedFields(view, names);
  return chosen.map((field) => ({ ...field, get: (item) => redactValue(field.get(item)) }));
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
}
