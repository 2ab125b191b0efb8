import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writePrivateFile } from './state-file.ts';

/** The key of the service, made at its first start: 43 letters of base64url, 256 bits. */
export function ensureKey(file: string): string {
  const stored = readKey(file);
  if (stored !== null) return stored;
  const key = randomBytes(32).toString('base64url');
  writePrivateFile(file, `${key}\n`);
  return key;
}

/** The stored key; null when there is none. */
export function readKey(file: string): string | null {
  try {
    const key = readFileSync(file, 'utf8').trim();
    return /^[A-Za-z0-9_-]{20,}$/.test(key) ? key : null;
  } catch {
    return null;
  }
}
