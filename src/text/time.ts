/** Times: what servers send, what users read, what users type. All are UTC. */
import { parseDuration, UNITS_MS } from './duration.ts';

const TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$/;
/** UTC, complete, and there in every year: no month is shorter than 28 days. What nearly all events carry. */
const PLAIN_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z?$/;

/**
 * RFC 3339 with `Z` of a server's time; the fraction keeps its digits (servers write microseconds). A time without a
 * zone is UTC, as the servers mean it. Null when it is not a time.
 */
export function normalizeTime(text: string | null | undefined): string | null {
  if (typeof text === 'string' && PLAIN_TIME.test(text)) return text.endsWith('Z') ? text : `${text}Z`;
  const match = TIME.exec(text?.trim() ?? '');
  if (!match) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction, zone] = match;
  // Leap seconds are no Date; servers never send them.
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(ms) || new Date(ms).getUTCDate() !== Number(day)) return null;
  const offsetMs = zoneOffsetMs(zone);
  const seconds =
    offsetMs === 0
      ? `${year}-${month}-${day}T${hour}:${minute}:${second}`
      : new Date(ms - offsetMs).toISOString().slice(0, 19);
  return `${seconds}${fraction ? `.${fraction}` : ''}Z`;
}

/** Milliseconds since the epoch, or null when it is not a time. */
export function parseTime(text: string | null | undefined): number | null {
  const normal = normalizeTime(text);
  return normal === null ? null : Date.parse(normal);
}

function zoneOffsetMs(zone: string | undefined): number {
  if (!zone || zone.toUpperCase() === 'Z') return 0;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const ms = Number(digits.slice(0, 2)) * UNITS_MS.h + Number(digits.slice(2)) * UNITS_MS.m;
  return zone.startsWith('-') ? -ms : ms;
}

/** `12s ago`, `3m ago`, `in 2h`, `4d ago`; more than 30 days away: the date. */
export function relativeTime(ms: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - ms);
  if (distanceMs < 1000) return 'now';
  if (distanceMs >= 30 * UNITS_MS.d) return new Date(ms).toISOString().slice(0, 10);
  const unit = (['d', 'h', 'm'] as const).find((longer) => distanceMs >= UNITS_MS[longer]) ?? 's';
  const amount = `${Math.floor(distanceMs / UNITS_MS[unit])}${unit}`;
  return ms > nowMs ? `in ${amount}` : `${amount} ago`;
}

/** `--since` and its like: a duration back from now, or a time. RFC 3339 with `Z`, or null when it is neither. */
export function parseSince(text: string, nowMs: number): string | null {
  const durationMs = parseDuration(text);
  if (durationMs === null) return normalizeTime(text);
  const ms = nowMs - durationMs;
  return Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString();
}
