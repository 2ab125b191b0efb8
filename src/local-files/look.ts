/** What a path of this machine names, for a copy. */
import { accessSync, constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import type { Place } from '../domain/place.ts';

/** Links are followed. Throws no error: what cannot be looked at is as if it could not be read. */
export function lookAt(given: string, cwd: string): Place {
  const full = path.resolve(cwd, given);
  const found = statOf(full);
  const there = found === null ? full : realPathOf(full);
  const folder = path.dirname(there);
  const isFolder = found?.isDirectory() === true;
  return {
    path: there,
    kind: isFolder ? 'folder' : found?.isFile() === true ? 'file' : found !== null || isLink(full) ? 'other' : 'none',
    bytes: found?.isFile() === true ? found.size : 0,
    mode: found === null ? null : found.mode & 0o777,
    isReadable: mayAccess(there, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK),
    isWritable: mayAccess(there, constants.W_OK),
    parent: {
      isFolder: statOf(folder)?.isDirectory() === true,
      isWritable: mayAccess(folder, constants.W_OK | constants.X_OK),
    },
  };
}

function statOf(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}

/** A link that leads to nothing. */
function isLink(file: string): boolean {
  try {
    return lstatSync(file).isSymbolicLink();
  } catch {
    return false;
  }
}

function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function mayAccess(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
