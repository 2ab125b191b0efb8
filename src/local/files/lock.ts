import { AppError, fileProblem } from '../../base/errors.ts';
import { takeLock, type HeldLock } from '../../base/lock.ts';

/** `pid`: the process that has the lock. Throws `config` where the folder cannot be written. */
export function lockFile(file: string): HeldLock | { pid: number } {
  const lock = `${file}.lock`;
  try {
    return takeLock(lock);
  } catch (error) {
    const { reason, hint } = fileProblem(error);
    throw new AppError('config', `cannot lock ${lock}: ${reason}`, { hint, cause: error });
  }
}
