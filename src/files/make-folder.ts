/** What the client and the local service both do with files. */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and those above it; one that is there is left as it is. Not by Node's `recursive`: where a file system
 * reports that a new name does not exist, as /proc does, Node 20 tries for ever.
 * @throws the error of the file system
 */
export function makeFolder(folder: string, mode = 0o777): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    makeFolder(path.dirname(folder), mode);
    makeLast(folder, mode);
  }
}

/** Another process may have created it meanwhile. */
function makeLast(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
