import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a directory and those above it; one that is there is left as it is. Not by Node's `recursive`: where a file system
 * says of a new name that it is not there, as /proc does, Node 20 tries for ever.
 * @throws the error of the file system
 */
export function makeDirectory(directory: string, mode = 0o777): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    makeDirectory(path.dirname(directory), mode);
    makeLast(directory, mode);
  }
}

/** Somebody else may have made it meanwhile. */
function makeLast(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
