import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { AppError, isAppError, fileProblem } from '../../base/errors.ts';
import { isSecretName } from '../../base/text/secret-names.ts';
import { isMaskable } from '../../base/text/secret-values.ts';

/** Throws `config` when it cannot be read; `checkSize` throws for too many bytes. */
export async function readNamedFile(
  { local: { cwd } }: Pick<Context, 'local'>,
  file: string,
  checkSize?: (bytes: number) => void,
): Promise<Uint8Array> {
  const full = path.resolve(cwd, file);
  try {
    if (checkSize !== undefined) checkSize((await stat(full)).size);
    return await readFile(full);
  } catch (error) {
    throw isAppError(error) ? error : unreadable(file, error, full);
  }
}

export function unreadable(file: string, error: unknown, full = file): AppError {
  const { reason, hint } = fileProblem(error);
  const where = full === file ? '' : `; full path: ${full}`;
  return new AppError('config', `cannot read ${file}: ${reason}`, {
    hint: hint + where,
    cause: error,
  });
}

export function unwritable(file: string, cause: unknown): AppError {
  return new AppError('config', `cannot write ${file}: ${fileProblem(cause).reason}`, { cause });
}

export function nameOfInput(file: string): string {
  return file === '-' ? 'stdin' : file;
}

/** The content of a file, or of stdin for `-`. */
export async function readInput(ctx: Context, file: string): Promise<Uint8Array> {
  return file === '-' ? await ctx.terminal.io.stdin.readAll() : await readNamedFile(ctx, file);
}

/** As `readInput`, without the line end that editors and `echo` add. */
export async function readText(ctx: Context, file: string): Promise<string> {
  if (file === '') throw new AppError('usage', 'the name of the file is empty');
  const bytes = await readInput(ctx, file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch (error) {
    throw new AppError('usage', 'the value is not valid UTF-8 text', {
      hint: 'encode it first, for example with base64',
      cause: error,
    });
  }
}

/** @param value a secret that is stored, or an object that has some */
export async function warnOfUnmasked(ctx: Context, name: string, value: unknown): Promise<void> {
  if (typeof value === 'object' && value !== null) {
    for (const [member, inner] of Object.entries(value))
      if (typeof inner === 'object' || isSecretName(member, 'variable'))
        await warnOfUnmasked(ctx, `${name}.${member}`, inner);
  } else if (typeof value === 'string' && value !== '' && !isMaskable(value))
    await ctx.warn(
      `the value of ${name} cannot be distinguished from ordinary words, so it is not ` +
        'masked in text',
    );
}

export async function promptForSecret(ctx: Context, what: string, hint: string): Promise<string> {
  if (!ctx.terminal.interactive)
    throw new AppError('usage', `missing: the value of ${what}`, { hint });
  return await (await ctx.terminal.prompt()).secret({ message: `${what}:` });
}
