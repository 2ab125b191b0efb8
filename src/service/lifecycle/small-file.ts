/** The small files of a data directory: key, lock, port, state. A path may have any kind of file. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs';
import { ServiceError } from './failure.ts';

const LONGEST_BYTES = 64 * 1024;

/**
 * The text of a small file; null when there is none, it may not be read, or it is something else: a pipe without a
 * writer would be waited for, a device has no end.
 */
export function readSmallFile(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const found = fstatSync(descriptor);
    return found.isFile() && found.size <= LONGEST_BYTES ? readFileSync(descriptor, 'utf8') : null;
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** The same of JSON, which must be an object. */
export function readSmallRecord(file: string): Record<string, unknown> | null {
  const text = readSmallFile(file);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Refuses a name that is taken by something that is not a file (a link to one counts as one): whatever it is, it is not
 * ours to remove, and opening it may wait for ever.
 * @throws ServiceError `data-dir`
 */
export function refuseUnlessFile(file: string): void {
  const found = statOf(file);
  if (found === null || (found !== 'dangling' && found.isFile())) return;
  const what = found === 'dangling' ? 'a link to nothing' : found.isDirectory() ? 'a directory' : 'no file';
  throw inTheWay(`${file} is ${what}`);
}

/** The same for a folder. */
export function refuseUnlessFolder(folder: string): void {
  const found = statOf(folder);
  if (found === null || (found !== 'dangling' && found.isDirectory())) return;
  throw inTheWay(`${folder} is ${found === 'dangling' ? 'a link to nothing' : 'no directory'}`);
}

function statOf(file: string): Stats | 'dangling' | null {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null;
  return statSync(file, { throwIfNoEntry: false }) ?? 'dangling';
}

function inTheWay(text: string): ServiceError {
  return new ServiceError('data-dir', text, { hint: 'Move it away, or set ACS_DATA_DIR to another folder.' });
}

/** Writes a small private file whole or not at all. */
export function writePrivateFile(file: string, text: string): void {
  refuseUnlessFile(file);
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}
