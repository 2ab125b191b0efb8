/**
 * Takes the time at which a run started from the sandbox where the record has a later one.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv diff` lacks commits of the agent: the server resets `created_at` of a record that was paused or
 *           stopped.
 * Evidence: interface 13 "Records written twice"; rate unknown; test/servers/quirks/reset-created-at.test.ts
 * Cost:     0 requests
 * Remove:   unknown
 */
import { parseTime } from '../../text/time.ts';

export function startedAtMs(ofRecord: string | null, ofSandbox: unknown): number | null {
  const recorded = parseTime(ofRecord);
  const known = typeof ofSandbox !== 'string' ? null : parseTime(ofSandbox);
  return recorded === null || known === null ? (recorded ?? known) : Math.min(recorded, known);
}
