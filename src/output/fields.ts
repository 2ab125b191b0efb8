/** Which fields of a view are shown, and in which order. */
import { AppError } from '../errors.ts';
import type { Field, View } from './view.ts';

/**
 * @param names the value of --fields
 * @throws usage when one is unknown or given twice; the known ones are listed
 */
export function chosenFields<T>(view: View<T>, names: readonly string[]): Field<T>[] {
  const fields: Field<T>[] = [];
  for (const name of names) {
    const field = view.fields.find((candidate) => candidate.name === name);
    const hint = `fields: ${view.fields.map((known) => known.name).join(', ')}`;
    if (!field) throw new AppError('usage', `unknown field "${name}" for ${view.noun}`, { hint });
    if (fields.includes(field)) throw new AppError('usage', `--fields names "${name}" twice`, { hint });
    fields.push(field);
  }
  return fields;
}

/** Fields named by the view itself, in its order; a name without a field is a mistake of the view and is left out. */
export function namedFields<T>(view: View<T>, names: readonly string[]): Field<T>[] {
  return names.flatMap((name) => view.fields.filter((field) => field.name === name));
}

/** The record of an item in JSON: the chosen fields, else the view's own record, else all fields. */
export function recordOf<T>(view: View<T>, item: T, names: readonly string[] | undefined): Record<string, unknown> {
  if (!names && view.record) return asObject(view.record(item));
  const fields = names ? chosenFields(view, names) : view.fields;
  return Object.fromEntries(fields.map((field) => [field.name, field.get(item) ?? null]));
}

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return { value };
}
