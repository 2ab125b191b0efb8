export const UNITS_MS = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
} as const;

/** Null when the text is not a duration. A bare number is refused. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text.trim());
  if (!match) return null;
  const ms = Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS];
  return Number.isFinite(ms) ? Math.round(ms) : null;
}

/** The shortest exact form: `90s` stays `90s`, `120000` becomes `2m`. */
export function formatDuration(ms: number): string {
  const units = ['w', 'd', 'h', 'm', 's'] as const;
  const unit = units.find((each) => ms > 0 && ms % UNITS_MS[each] === 0) ?? 'ms';
  return `${ms / UNITS_MS[unit]}${unit}`;
}

/** The two largest units: `18s`, `1m 18s`, `2h 3m`, `4d 1h`. */
export function roundDuration(ms: number): string {
  const unit = largestUnit(ms);
  const first = `${Math.floor(ms / UNITS_MS[unit])}${unit}`;
  if (unit === 's') return first;
  const smaller = ({ d: 'h', h: 'm', m: 's' } as const)[unit];
  return `${first} ${Math.floor((ms % UNITS_MS[unit]) / UNITS_MS[smaller])}${smaller}`;
}

function largestUnit(ms: number): 'd' | 'h' | 'm' | 's' {
  return (['d', 'h', 'm'] as const).find((longer) => ms >= UNITS_MS[longer]) ?? 's';
}

const CLOCK_TIME = String.raw`(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?`;
const TIME = new RegExp(
  String.raw`^(\d{4}-\d{2}-(\d{2}))(?:[T ]${CLOCK_TIME}\s?(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$`,
);
/** Complete, in UTC, on a day that each month has: nearly all events have such a time. */
const PLAIN_TIME = new RegExp(
  String.raw`^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])` +
    String.raw`T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z?$`,
);

/** RFC 3339 with `Z` and all digits of the fraction; without a zone it is UTC. Null: no time. */
export function normalizeTime(text: string | null | undefined): string | null {
  if (typeof text === 'string' && PLAIN_TIME.test(text))
    return text.endsWith('Z') ? text : `${text}Z`;
  const match = TIME.exec(String(text).trim());
  if (!match) return null;
  const [, date, day, minutes = '00:00', second = '00', fraction, zone = 'Z'] = match;
  const local = `${date}T${minutes}:${second}`;
  const [hours = '', zoneMinutes = ''] = zone.match(/[+-]?\d{2}/g) ?? [];
  const offset = hours === '' ? 'Z' : `${hours}:${zoneMinutes.padEnd(2, '0')}`;
  const time = new Date(local + offset);
  // Date reads February 30 as March 2.
  const isDay = new Date(`${local}Z`).getUTCDate() === Number(day);
  if (!isDay || Number.isNaN(time.getTime())) return null;
  return `${time.toISOString().slice(0, 19)}${fraction ? `.${fraction}` : ''}Z`;
}

export function parseTime(text: string | null | undefined): number | null {
  const normal = normalizeTime(text);
  return normal === null ? null : Date.parse(normal);
}

/** `12s ago`, `3m ago`, `in 2h`, `4d ago`; more than 30 days away: the date. */
export function relativeTime(ms: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - ms);
  if (distanceMs < 1000) return 'now';
  if (distanceMs >= 30 * UNITS_MS.d) return new Date(ms).toISOString().slice(0, 10);
  const unit = largestUnit(distanceMs);
  const amount = `${Math.floor(distanceMs / UNITS_MS[unit])}${unit}`;
  return ms > nowMs ? `in ${amount}` : `${amount} ago`;
}

/** A duration back from now, or a time. Null when it is neither. */
export function parseSince(text: string, nowMs: number): string | null {
  const durationMs = parseDuration(text);
  if (durationMs === null) return normalizeTime(text);
  const ms = nowMs - durationMs;
  return Number.isNaN(new Date(ms).getTime()) ? null : new Date(ms).toISOString();
}

/** Whether a record is of an earlier time; one without a time is not. */
export function earlierThan(since: string | null = null) {
  const sinceMs = parseTime(since);
  return ({ timestamp }: { timestamp: string | null }): boolean =>
    sinceMs !== null && (parseTime(timestamp) ?? Infinity) < sinceMs;
}
