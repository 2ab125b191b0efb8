/** Errors of the file system in words. */
import { AppError, isAppError } from '../errors.ts';
import { fileProblem } from '../text/file-problem.ts';

/** @param what `read` or `write` */
export function fileError(what: 'read' | 'write', file: string, error: unknown): AppError {
  if (isAppError(error)) return error;
  const { reason, hint } = fileProblem(error);
  return new AppError('config', `cannot ${what} ${file}: ${reason}`, { hint, cause: error });
}
