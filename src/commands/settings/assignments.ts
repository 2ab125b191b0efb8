/** The settings that a command line sets: `key=value`, `key=@file`, `key=-`, a bare secret name, and `--file`. */
import type { Context } from '../../context.ts';
import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import { SETTINGS_FIELDS } from '../../domain/settings-fields.ts';
import { AppError } from '../../errors.ts';
import { readNamedFile } from '../files.ts';
import { findField, requireField } from './fields.ts';
import { holdsSecret, parseSettingsText, type Parsed } from './parse.ts';

export interface Assignment {
  name: string;
  /** Null for a bare name: a prompt reads its value. */
  text: string | null;
}

/** Takes the words apart and refuses, before any request, what can be refused then. */
export function readAssignments(words: readonly string[], hasFileOnStdin: boolean): Assignment[] {
  const assignments = words.map((word): Assignment => {
    const at = word.indexOf('=');
    return at === -1 ? { name: word, text: null } : { name: word.slice(0, at), text: word.slice(at + 1) };
  });
  const seen = new Set<string>();
  for (const { name, text } of assignments) {
    if (seen.has(name)) throw new AppError('usage', `${name} is given twice`);
    seen.add(name);
    const known = findField(SETTINGS_FIELDS, name);
    if (known && text !== null && !isIndirect(text)) inlineValue(known, text);
  }
  const readers = assignments.filter(({ text }) => text === '-').length + (hasFileOnStdin ? 1 : 0);
  if (readers > 1) throw new AppError('usage', 'two values are read from stdin, which can be read only once');
  return assignments;
}

export async function valuesOf(
  ctx: Context,
  fields: readonly SettingsField[],
  assignments: readonly Assignment[],
): Promise<Map<SettingsField, JsonValue>> {
  const known = assignments.map(({ name, text }) => ({ field: requireField(fields, name), text }));
  const values = new Map<SettingsField, JsonValue>();
  for (const { field, text } of known) {
    if (values.has(field)) throw new AppError('usage', `${field.name} is given twice`);
    const value = await valueOf(ctx, field, text);
    if (field.secret && typeof value === 'string') ctx.keepSecret(value);
    values.set(field, value);
  }
  return values;
}

async function valueOf(ctx: Context, field: SettingsField, text: string | null): Promise<JsonValue> {
  if (text === null) return accepted(field, parseSettingsText(field, await askFor(ctx, field)));
  if (text === '-') return accepted(field, parseSettingsText(field, textOf(await ctx.io.stdin.readAll())));
  if (text.startsWith('@')) return accepted(field, parseSettingsText(field, await readText(ctx, text.slice(1))));
  return inlineValue(field, text);
}

function isIndirect(text: string): boolean {
  return text === '-' || text.startsWith('@');
}

function inlineValue(field: SettingsField, text: string): JsonValue {
  const parsed = parseSettingsText(field, text);
  if (parsed.ok && holdsSecret(field, parsed.value)) throw secretInline(field);
  return accepted(field, parsed);
}

function secretInline({ name, type }: SettingsField): AppError {
  return new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
    hint: `write ${name}=@<file>${type === 'string' ? `, ${name}=- for stdin, or ${name} alone to be asked` : ` or ${name}=- for stdin`}`,
  });
}

export function accepted(field: SettingsField, parsed: Parsed): JsonValue {
  if (parsed.ok) return parsed.value;
  throw new AppError('usage', `${field.name}: ${parsed.problem}`, { hint: `see: acs settings schema ${field.name}` });
}

async function askFor(ctx: Context, field: SettingsField): Promise<string> {
  if (!field.secret || field.type !== 'string') {
    throw new AppError('usage', `${field.name} has no value`, {
      hint: `write ${field.name}=<value> or ${field.name}=@<file>`,
    });
  }
  if (!ctx.interactive) {
    throw new AppError('usage', `no value for ${field.name} was given, and prompts are off`, {
      hint: `write ${field.name}=@<file>, or ${field.name}=- for stdin`,
    });
  }
  return await (await ctx.prompt()).secret({ message: field.name });
}

/** A text of a file or of stdin without the line end that editors and `echo` add. */
export async function readText(ctx: Context, file: string): Promise<string> {
  if (file === '-') return textOf(await ctx.io.stdin.readAll());
  if (file === '') throw new AppError('usage', '"@" needs the name of a file');
  return textOf(await readNamedFile(ctx, file));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\r?\n$/, '');
}
