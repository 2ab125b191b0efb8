/**
 * Writes the times of event filters without a zone, in UTC.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv events --since` misses the event of exactly that time, because a time with `Z`
 *           excludes it.
 * Evidence: interface 12; recording exchanges-1.11.0.jsonl, events.search.since and
 *           events.search.since-z
 * Cost:     0 requests
 * Remove:   unknown
 */
import { normalizeTime } from '../../../base/text/time.ts';

export function naiveTime(text: string): string {
  return (normalizeTime(text) ?? text).replace(/Z$/, '');
}
