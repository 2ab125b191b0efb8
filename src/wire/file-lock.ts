/** The lock of a file that the user names, by the mechanism that locks the data of the local service. */
import { AppError } from '../errors.ts';
import { isHeld, takeLock } from '../service/lifecycle/lock.ts';
import { selfIdentity } from '../service/lifecycle/process.ts';
import { fileProblem } from '../text/file-problem.ts';

export function lockFile(file: string): { release(): void } | { pid: number } {
  const lock = `${file}.lock`;
  try {
    const taken = takeLock(lock, selfIdentity());
    return isHeld(taken) ? taken : { pid: taken.pid };
  } catch (error) {
    const { reason, hint } = fileProblem(error);
    throw new AppError('config', `cannot lock ${lock}: ${reason}`, { hint, cause: error });
  }
}
