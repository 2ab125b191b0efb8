/**
 * Repeats a read that was answered with 500.
 *
 * Servers:  openhands-ai before 1.6.0
 * Symptom:  any command exits 9 at random while a run starts: the server writes records and events
 *           in place, and a read at that moment is 500.
 * Evidence: interface 13 "500 on reads": 4 of 14 starts over V0 on 1.4.0;
 *           test/client/http/retry.test.ts
 * Cost:     0 requests; a read whose 500 lasts is sent up to 4 times, and its error comes up to 2 s
 *           later
 * Remove:   when servers before 1.6.0 are no longer supported
 */

/** A lasting 500 must not delay its error: no try starts later than this after the first one. */
const LAST_TRY_MS = 2_000;

export function mayRepeat500(elapsedMs: number): boolean {
  return elapsedMs <= LAST_TRY_MS;
}
