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

/** Any ISO time a client may send, with or without zone and fraction, in the naive form; null: not a time. */
export function normalizeTimestamp(text: string): string | null {
  // In a query an unescaped `+02:00` arrives with a space for its plus.
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)?\s*(Z|[+-]?\d\d:?\d\d)?$/i.exec(
    text.trim(),
  );
  if (match === null) return null;
  const [, day, time = '00:00:00', fraction = '', zone = 'Z'] = match;
  const offset = /^\d/.test(zone) ? `+${zone}` : zone.toUpperCase();
  const colon = /^[+-]\d{4}$/.test(offset) ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset;
  const parsed = Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}${colon}`);
  if (Number.isNaN(parsed)) return null;
  const seconds = new Date(parsed).toISOString().slice(0, 19);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, '0')}`;
}
