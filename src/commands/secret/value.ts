/** Where the value of a secret comes from: never from the command line, which others can read. */
import type { Context } from '../../context.ts';
import { isSecretName } from '../../domain/secret.ts';
import { AppError } from '../../errors.ts';
import { readNamedFile } from '../files.ts';

export interface ValueOptions {
  fromEnv?: string;
}

export type ValueSource =
  { kind: 'file'; file: string } | { kind: 'stdin' } | { kind: 'environment'; name: string } | { kind: 'prompt' };

const WAYS = 'give it as @file, as - on stdin, with --from-env NAME, or at the prompt of a terminal';

/** Takes `NAME`, `NAME @file`, `NAME=@file` apart. Throws `usage` for a value in the open. */
export function sourceOf(
  word: string,
  argument: string | undefined,
  { fromEnv }: ValueOptions,
): { name: string; source: ValueSource } {
  const at = word.indexOf('=');
  const name = at === -1 ? word : word.slice(0, at);
  const given = [at === -1 ? undefined : word.slice(at + 1), argument].filter((text) => text !== undefined);
  if (given.length + (fromEnv === undefined ? 0 : 1) > 1) throw new AppError('usage', 'the value is given twice');
  const [text] = given;
  if (fromEnv !== undefined) return { name, source: { kind: 'environment', name: fromEnv } };
  if (text === undefined) return { name, source: { kind: 'prompt' } };
  if (text === '-') return { name, source: { kind: 'stdin' } };
  if (text.startsWith('@') && text.length > 1) return { name, source: { kind: 'file', file: text.slice(1) } };
  throw new AppError('usage', 'a secret value is not accepted on the command line', { hint: WAYS });
}

/** Throws `usage`. The name is not repeated: it may be the secret itself, in the wrong place. */
export function checkSecretName(name: string): void {
  if (isSecretName(name)) return;
  throw new AppError('usage', 'invalid secret name', {
    hint: 'use letters, digits and underscores, not beginning with a digit, such as NPM_TOKEN',
  });
}

/** Throws `usage` when there is none, `config` when its file cannot be read. */
export async function readValue(ctx: Context, name: string, source: ValueSource): Promise<string> {
  const value = (await readFrom(ctx, name, source)).replace(/\r?\n$/, '');
  if (value === '') throw new AppError('usage', `the value for ${name} is empty`, { hint: WAYS });
  ctx.keepSecret(value);
  return value;
}

async function readFrom(ctx: Context, name: string, source: ValueSource): Promise<string> {
  switch (source.kind) {
    case 'file':
      return textOf(await readNamedFile(ctx, source.file));
    case 'stdin':
      return textOf(await ctx.io.stdin.readAll());
    case 'environment': {
      const value = ctx.env[source.name];
      if (value !== undefined) return value;
      throw new AppError('usage', '--from-env: the variable is not set', { hint: WAYS });
    }
    case 'prompt':
      if (!ctx.interactive)
        throw new AppError('usage', `no value for ${name} was given, and prompts are off`, { hint: WAYS });
      return await (await ctx.prompt()).secret({ message: `${name}:` });
  }
}

/** Other bytes would be stored as something else than they are. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('usage', 'the value is not valid UTF-8 text', {
      hint: 'encode it first, for example with base64',
      cause: error,
    });
  }
}
