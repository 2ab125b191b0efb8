/**
 * Stops requests to a sandbox that does not answer, for a while.
 *
 * Servers:  agent servers up to 1.11.4 answer after the running step; a sandbox that hangs
 * Symptom:  `conv follow` prints no events for minutes: each request to the sandbox runs into its
 *           time-out before the copy of the app server is read.
 * Evidence: interface 13 "Busy agent server": 16.5 s of a command of 20 s on 1.4.0;
 *           test/client/agent-server/socket.test.ts
 * Cost:     0 requests; after a socket that failed for 3 s or more the sandbox gets no request for
 *           15 to 120 s
 * Remove:   unknown
 */
import type { Clock } from '../../../base/clock.ts';

const SLOW_FAILURE_MS = 3_000;
const SHORTEST_MS = 15_000;
const LONGEST_MS = 120_000;

/** Each slow failure doubles the time without requests. */
export function createAvoidance(clock: Clock) {
  let untilMs = 0;
  let forMs = 0;
  const end = () => {
    untilMs = 0;
    forMs = 0;
  };
  return {
    isOn: () => clock.now() < untilMs,
    end,
    failed(startedAtMs: number): void {
      if (clock.now() - startedAtMs < SLOW_FAILURE_MS) return end();
      forMs = Math.min(Math.max(2 * forMs, SHORTEST_MS), LONGEST_MS);
      untilMs = clock.now() + forMs;
    },
  };
}
