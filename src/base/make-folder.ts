import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** With its parents; Node 20 would try `recursive` for ever under /proc. Throws of the system. */
export function makeFolder(folder: string, mode = 0o777): void {
  for (const isRetry of [false, true]) {
    try {
      return mkdirSync(folder, { mode });
    } catch (error) {
      // Another process may have created it meanwhile.
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
      if (isRetry || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      makeFolder(path.dirname(folder), mode);
    }
  }
}
