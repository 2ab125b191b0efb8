/**
 * Whether JSON that a command prints has the form that its help names, with the members that `acs
 * help output` lists.
 */
import type { Command } from 'commander';
import { explanationOf } from '../../src/commands/shared/declare.ts';
import { RECORDS } from '../../src/commands/help/index.ts';
import { JSON_FORMS } from '../../src/commands/help/page.ts';
import type { RecordShape } from '../../src/output/view.ts';

/** The forms in the help of a command, `conv list`. */
export function formsOf(root: Command, words: string): string[] {
  let command: Command | undefined = root;
  for (const word of words.split(' '))
    command = command?.commands.find((each) => each.name() === word);
  const forms = (command && explanationOf(command)?.json?.(JSON_FORMS)) ?? [];
  return forms.map((form) => (typeof form === 'string' ? form : form[1]));
}

/** The nouns that a form names, such as `conversation`; `{"<name>":<value>}` names none. */
export function nounsOf(form: string): string[] {
  return [...form.matchAll(/<([^>]+)>/g)]
    .map(([, noun = '']) => noun)
    .filter((noun) => !/^(name|value)$/.test(noun));
}

/** Texts that are documents, or one document a line. */
export function documentsOf(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  }
}

export function fits(value: unknown, form: string): boolean {
  const shapes = nounsOf(form).map((noun) => RECORDS.find((record) => record.noun === noun));
  if (shapes.includes(undefined)) return false;
  const known = shapes as RecordShape[];
  if (known.length === 0) return true;
  if (!form.startsWith('{"items":')) return fitsRecord(value, known, quoted(form));
  const { items, ...rest } = value as { items: unknown[] };
  return (
    Object.keys(rest).join() === 'has_more' && items.every((item) => fitsRecord(item, known, []))
  );
}

function fitsRecord(
  value: unknown,
  shapes: readonly RecordShape[],
  also: readonly string[],
): boolean {
  const record = value as Record<string, unknown>;
  return shapes.some(({ fields }) => {
    const names = fields.map(({ name }) => name);
    const keys = Object.keys(record);
    if (
      names.some((name) => !keys.includes(name)) ||
      keys.some((key) => ![...names, ...also].includes(key))
    )
      return false;
    return fields.every(({ name, json }) => json === undefined || fitsMember(record[name], json));
  });
}

function fitsMember(
  value: unknown,
  { list, members }: NonNullable<RecordShape['fields'][number]['json']>,
): boolean {
  if (value === null) return true;
  if (list && !Array.isArray(value)) return false;
  if (members === undefined || members.includes('…')) return true;
  const objects = list ? (value as object[]) : [value as object];
  return objects.every(
    (object) => Object.keys(object).sort().join() === [...members].sort().join(),
  );
}

function quoted(form: string): string[] {
  return [...form.matchAll(/"(\w+)"/g)].map(([, name = '']) => name);
}
