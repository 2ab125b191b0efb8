/** `-f key=value` and `-F key=value`: members of a body or of a query. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { memberRedaction } from '../../text/redact-members.ts';
import { isSecretName } from '../../text/secret-names.ts';
import { readNamedFile } from '../files.ts';

type Scalar = string | number | boolean | null;

interface Field {
  name: string;
  /** The name in parts: `a[b][]` is a, b and the empty text, which adds to a list. */
  path: readonly string[];
  value: Scalar;
}

/** By the names of members alone. */
const withoutSecrets = memberRedaction((text) => text);

/** Throws `usage` for a text without a key, and for a secret that is written on the command line. */
export async function readFields(
  place: 'body' | 'query',
  { rawField = [], field = [] }: { rawField?: readonly string[]; field?: readonly string[] },
  ctx: Context,
): Promise<Field[]> {
  const fields: Field[] = [];
  for (const text of rawField) {
    const { name, value } = partsOf(text, '-f');
    fields.push(inline(place, name, value));
  }
  for (const text of field) {
    const { name, value } = partsOf(text, '-F');
    if (!value.startsWith('@')) fields.push(inline(place, name, typed(name, value)));
    else fields.push(await fromFile(place, name, value.slice(1), ctx));
  }
  return fields;
}

function partsOf(text: string, flag: string): { name: string; value: string } {
  const at = text.indexOf('=');
  if (at < 1) throw new AppError('usage', `${flag} needs key=value`);
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

function inline(place: 'body' | 'query', name: string, value: Scalar): Field {
  const field = { name, path: pathOf(place, name), value };
  if (!isSecret(field)) return field;
  throw new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
    hint: `write -F ${name}=@<file>, or -F ${name}=@- for stdin`,
  });
}

async function fromFile(place: 'body' | 'query', name: string, file: string, ctx: Context): Promise<Field> {
  if (file === '') throw new AppError('usage', `${name}: "@" needs the name of a file`);
  const path = pathOf(place, name);
  const bytes = file === '-' ? await ctx.io.stdin.readAll() : await readNamedFile(ctx, file);
  let value: string;
  try {
    value = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new AppError('usage', `${name}: ${file === '-' ? 'stdin' : file} is not UTF-8 text`, {
      hint: 'send other content with --input',
    });
  }
  const field = { name, path, value };
  if (isSecret(field)) ctx.keepSecret(value);
  return field;
}

/** The parts of a name; in a query it has one. */
function pathOf(place: 'body' | 'query', name: string): string[] {
  if (place === 'query') return [name];
  const [, first = '', rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? [];
  const below = [...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, part = '']) => part);
  // Only the last part may be empty: which item of a list is meant would not be clear.
  if (first !== '' && !below.slice(0, -1).includes('')) return [first, ...below];
  throw new AppError('usage', `${name} is not the name of a member`, {
    hint: 'write key, key[sub] or key[]; send other bodies with --input',
  });
}

function isSecret(field: Field): boolean {
  if (typeof field.value !== 'string' || field.value === '') return false;
  const body = bodyOf([field]);
  return isSecretName(field.name) || withoutSecrets(body) !== body;
}

function typed(name: string, text: string): Scalar {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
  const number = Number(text);
  if (/^-?\d+$/.test(text) ? Number.isSafeInteger(number) : Number.isFinite(number)) return number;
  throw new AppError('usage', `${name}: ${text.slice(0, 40)} is too large for a number`, {
    hint: 'send it as text with -f, or the whole body with --input',
  });
}

type Tree = Map<string, Tree | List | Scalar>;
type List = Scalar[];

/** The object that the fields describe. Throws `usage` when two of them set the same member. */
export function bodyOf(fields: readonly Field[]): object {
  const root: Tree = new Map();
  for (const { name, path, value } of fields) {
    const last = path.at(-1) ?? '';
    const isItem = path.length > 1 && last === '';
    const parents = isItem ? path.slice(0, -2) : path.slice(0, -1);
    const member = isItem ? (path.at(-2) ?? '') : last;
    let tree = root;
    for (const part of parents) {
      const below = tree.get(part) ?? new Map();
      if (!(below instanceof Map)) throw twice(name);
      tree.set(part, below);
      tree = below as Tree;
    }
    const before = tree.get(member);
    if (isItem && Array.isArray(before)) before.push(value);
    else if (before !== undefined) throw twice(name);
    else tree.set(member, isItem ? [value] : value);
  }
  return toObject(root);
}

function twice(name: string): AppError {
  return new AppError('usage', `${name} sets a member that another field has set`);
}

function toObject(tree: Tree): object {
  return Object.fromEntries(
    [...tree].map(([name, value]) => [name, value instanceof Map ? toObject(value) : value] as const),
  );
}
