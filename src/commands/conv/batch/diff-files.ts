/** The files of `--diff-dir`: one for each task, named by its key. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../../context.ts';
import { AppError } from '../../../errors.ts';
import { fileDestination } from '../../../output/destination.ts';
import { fileProblem } from '../../../text/file-problem.ts';

const LONGEST_NAME = 150;
/** Names that Windows reserves for devices, with any extension. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * The file name of each key: the key where every file system takes it, else with `%` escapes and, where it is too long
 * or differs from another key only in its case, a hash.
 */
export function diffNames(keys: readonly string[]): Map<string, string> {
  const escaped = keys.map(escapeName);
  const uses = new Map<string, number>();
  for (const name of escaped) uses.set(name.toLowerCase(), (uses.get(name.toLowerCase()) ?? 0) + 1);
  return new Map(
    keys.map((key, at) => {
      const name = escaped[at] ?? '';
      const isShared = (uses.get(name.toLowerCase()) ?? 0) > 1;
      if (!isShared && name.length <= LONGEST_NAME) return [key, `${name}.diff`];
      const hash = createHash('sha256').update(key).digest('hex').slice(0, 8);
      return [key, `${name.slice(0, LONGEST_NAME)}-${hash}.diff`];
    }),
  );
}

function escapeName(key: string): string {
  const name = [...key]
    .map((character) => (/[A-Za-z0-9._ -]/.test(character) ? character : escaped(character)))
    .join('');
  const first = name[0] ?? '';
  const isUnsafe = first === '.' || first === '-' || first === ' ' || RESERVED.test(name);
  return isUnsafe ? `${escaped(first)}${name.slice(1)}` : name;
}

function escaped(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('');
}

/** Makes the folder. Throws `config`. */
export async function makeDiffFolder(ctx: Context, folder: string): Promise<void> {
  try {
    await mkdir(path.resolve(ctx.cwd, folder), { recursive: true });
  } catch (error) {
    throw new AppError('config', `--diff-dir: cannot make ${folder}: ${fileProblem(error).reason}`, { cause: error });
  }
}

/** Writes a diff under another name first, so that the file is never half of one. Throws `config`. */
export async function writeDiff(ctx: Context, file: string, patch: Uint8Array): Promise<void> {
  const destination = fileDestination(file, ctx.cwd);
  try {
    await destination.write(patch);
    await destination.close();
  } catch (error) {
    await destination.abandon();
    throw error;
  }
}
