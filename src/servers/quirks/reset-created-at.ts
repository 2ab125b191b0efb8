/**
 * Takes the time at which a run started from the sandbox where the record has a later one.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv diff` lacks commits of the agent: the server resets `created_at` of a record that was paused or
 *           stopped.
 * Evidence: interface 13 "Records written twice"; rate unknown; test/servers/diff-base.test.ts
 * Cost:     0 requests
 * Remove:   unknown
 */
import { parseTime } from '../../text/time.ts';
import type { Links } from '../links.ts';

export function startedAtMs(links: Links, ofRecord: string | null, ofSandbox: unknown): number | null {
  const recorded = parseTime(ofRecord);
  const known = links.local || typeof ofSandbox !== 'string' ? null : parseTime(ofSandbox);
  return recorded === null || known === null ? (recorded ?? known) : Math.min(recorded, known);
}
