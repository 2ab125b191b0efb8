/**
 * Writes the times of event filters without a zone, in UTC.
 *
 * Servers:  openhands-ai 1.11.0
 * Symptom:  `conv events --since` misses the event of exactly that time, because a time with `Z` excludes it.
 * Evidence: interface 12; recording exchanges-1.11.0.jsonl, events.search.since and events.search.since-z
 * Cost:     0 requests
 * Remove:   unknown
 */
import { normalizeTime } from '../../text/time.ts';

/** Without a zone, in UTC: with `Z` some servers leave out the event of exactly that time (interface 12). */
export function naiveTime(text: string): string {
  return (normalizeTime(text) ?? text).replace(/Z$/, '');
}

export function naiveTimeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, '');
}
