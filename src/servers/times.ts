/** Times in the form servers compare by. */
import { normalizeTime } from '../text/time.ts';

/** Without a zone, in UTC: with `Z` some servers leave out the event of exactly that time (interface 12). */
export function naiveTime(text: string): string {
  return (normalizeTime(text) ?? text).replace(/Z$/, '');
}

export function naiveTimeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, '');
}
