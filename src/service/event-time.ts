/**
 * Times of events: naive (no zone), UTC, microseconds, as genuine servers write them. Being all of one form they are
 * compared as texts.
 */

/** Microseconds since 1970 as the naive form, such as `2026-01-31T10:12:29.758035`. */
export function naiveTimestamp(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(Math.floor(microseconds) - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().slice(0, -1) + rest;
}

/** The same with `Z`, as both servers write the times of everything but events. */
export function zonedTimestamp(microseconds: number): string {
  return `${naiveTimestamp(microseconds)}Z`;
}
