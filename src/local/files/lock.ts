import { AppError, fileProblem } from '../../base/errors.ts';
import { takeLock, type HeldLock } from '../../base/lock.ts';
import { poll } from '../../base/process.ts';

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

/** Throws `config` also when another process has the lock for this time. */
export async function waitForLock(file: string, timeoutMs: number): Promise<HeldLock> {
  let pid = 0;
  const held = await poll(() => {
    const lock = lockFile(file);
    if (!('pid' in lock)) return lock;
    pid = lock.pid;
    return null;
  }, timeoutMs);
  if (held !== null) return held;
  throw new AppError('config', `another acs process (pid ${pid}) holds the lock of ${file}`, {
    hint: 'end that process, or wait for it',
    retryable: true,
  });
}
