import { timingSafeEqual } from 'node:crypto';

/** Whether a key is the right one, in a time that does not tell how much of it is. */
export function isKey(given: string | undefined | null, key: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(key)];
  return a.length === b.length && timingSafeEqual(a, b);
}
