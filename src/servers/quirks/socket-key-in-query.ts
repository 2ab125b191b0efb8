/**
 * Sends the key of a socket in the query where the header is refused.
 *
 * Servers:  agent servers before 1.12
 * Symptom:  `conv follow` and `wait` only poll: the server reads the key of a socket from the query alone.
 * Evidence: interface 7.3; rate not applicable; test/servers/quirks/socket-key-in-query.test.ts, "falls back to the key in the query only
 *           when the header is refused"
 * Cost:     0 requests when the header works; else 2 failed connections
 * Remove:   when agent servers before 1.12 are no longer supported
 */
import type { KeyPlace } from '../agent-server/socket.ts';

/**
 * A URL ends up in logs, so the query is used only where the header never worked and failed twice in a row while the
 * server answers otherwise, and no more after it fails too.
 */
export function keyPlaces(): { now(): KeyPlace; worked(): void; failed(): void } {
  let place: KeyPlace = 'header';
  let headerWorks = false;
  let failures = 0;
  return {
    now: () => place,
    worked() {
      headerWorks ||= place === 'header';
      failures = 0;
    },
    failed() {
      failures += 1;
      if (place === 'query') place = 'header';
      else if (failures < 2 || headerWorks) return;
      else place = 'query';
      failures = 0;
    },
  };
}
