import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

const LONGEST_BYTES = 64 * 1024;

/** Null when it does not exist, may not be read, or is not a small file. */
export function readSmallFile(file: string): string | null {
  try {
    const stat = statSync(file);
    return stat.isFile() && stat.size <= LONGEST_BYTES ? readFileSync(file, 'utf8') : null;
  } catch {
    return null;
  }
}

/** The same of JSON; null also for another value than an object. */
export function readSmallRecord(file: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readSmallFile(file) ?? 'null');
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** Replaces a private file (0600) or a link whole; else throws the error of the file system. */
export function writeSmallFile(file: string, text: string): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
