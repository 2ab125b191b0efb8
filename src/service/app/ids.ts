import { randomBytes, randomInt } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 32 hexadecimal digits with at least one letter: ids of digits alone break the databases of genuine servers. */
export function newHexId(): string {
  for (;;) {
    const id = randomBytes(16).toString('hex');
    if (/[a-f]/.test(id)) return id;
  }
}

/** 22 letters of base62, as sandboxes are named. */
export function newSandboxId(): string {
  return Array.from({ length: 22 }, () => BASE62[randomInt(BASE62.length)]).join('');
}

/** The key of one sandbox. */
export function newSessionKey(): string {
  return randomBytes(32).toString('base64url');
}
