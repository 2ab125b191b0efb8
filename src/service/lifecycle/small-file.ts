import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readSmallFile, writeSmallFile } from '../../base/small-file.ts';
import { ServiceError } from '../base/failure.ts';

/** Opening a pipe may wait for ever. Throws ServiceError `data-dir`. */
export function refuseUnless(kind: 'file' | 'directory', name: string): void {
  const found = statSync(name, { throwIfNoEntry: false });
  if (found === undefined || (kind === 'file' ? found.isFile() : found.isDirectory())) return;
  throw new ServiceError('data-dir', `${name} is not a ${kind}`, {
    hint: 'Move it away, or set ACS_DATA_DIR to another folder.',
  });
}

export function writePrivateFile(file: string, text: string): void {
  refuseUnless('file', file);
  writeSmallFile(file, text);
}

/** 256 bits in base64url. An invalid key is not replaced. Throws ServiceError `data-dir`. */
export function ensureKey(file: string): string {
  const stored = readKey(file);
  if (stored !== null) return stored;
  refuseUnless('file', file);
  if (existsSync(file)) {
    throw new ServiceError('data-dir', `${file} holds no key, or cannot be read`, {
      hint:
        'A key has at least 20 letters, digits, - and _. Remove the file, and the service ' +
        'makes a new key.',
    });
  }
  const key = randomBytes(32).toString('base64url');
  writePrivateFile(file, `${key}\n`);
  return key;
}

export function readKey(file: string): string | null {
  const key = readSmallFile(file)?.trim();
  return key !== undefined && /^[A-Za-z0-9_-]{20,}$/.test(key) ? key : null;
}

export function readPort(file: string): number {
  const port = Number(readSmallFile(file)?.trim());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}
