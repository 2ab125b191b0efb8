/** Files that the command line names. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { AppError, isAppError } from '../errors.ts';
import { fileProblem } from '../text/file-problem.ts';

/**
 * Reads a file, relative to where the command runs. Throws `config` when it cannot be read.
 * @param checkSize throws for too many bytes
 */
export async function readNamedFile(
  { cwd }: Pick<Context, 'cwd'>,
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

/** @param full the resolved path */
export function unreadable(file: string, error: unknown, full = file): AppError {
  const { reason, hint } = fileProblem(error);
  const where = full === file ? '' : `; full path: ${full}`;
  return new AppError('config', `cannot read ${file}: ${reason}`, { hint: hint + where, cause: error });
}
