import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { ServiceError } from './failure.ts';
import { readSmallFile, refuseUnlessFile, writePrivateFile } from './small-file.ts';

/**
 * The key of the service, created at its first start: 43 letters of base64url, 256 bits. An invalid one in the file is
 * not replaced: its owner has to replace it.
 * @throws ServiceError `data-dir`
 */
export function ensureKey(file: string): string {
  const stored = readKey(file);
  if (stored !== null) return stored;
  refuseUnlessFile(file);
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
    throw new ServiceError('data-dir', `${file} holds no key, or cannot be read`, {
      hint: 'A key is 20 letters, digits, - and _ or more. Remove the file, and a new key is made.',
    });
  }
  const key = randomBytes(32).toString('base64url');
  writePrivateFile(file, `${key}\n`);
  return key;
}

/** The stored key; null when there is none. */
export function readKey(file: string): string | null {
  const key = readSmallFile(file)?.trim();
  return key !== undefined && /^[A-Za-z0-9_-]{20,}$/.test(key) ? key : null;
}
