/**
 * Sends the key of a socket in the query where the header is refused.
 *
 * Servers:  agent servers before 1.12
 * Symptom:  `conv follow` and `wait` only poll: the server reads the key of a socket from the query
 *           alone.
 * Evidence: interface 7.3; rate not applicable; test/client/v1/follow.test.ts
 * Cost:     0 requests when the header works; else 2 failed connections
 * Remove:   when agent servers before 1.12 are no longer supported
 */
import type { KeyLocation } from '../../agent-server/socket.ts';

/** A URL may be logged: the query is used after the header has failed twice, and never worked. */
export function keyLocations(): { now(): KeyLocation; worked(): void; failed(): void } {
  let location: KeyLocation = 'header';
  let headerWorks = false;
  let failures = 0;
  return {
    now: () => location,
    worked() {
      headerWorks ||= location === 'header';
      failures = 0;
    },
    failed() {
      failures += 1;
      if (location === 'query') location = 'header';
      else if (failures < 2 || headerWorks) return;
      else location = 'query';
      failures = 0;
    },
  };
}
