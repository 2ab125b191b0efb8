/**
 * The one clock of the service. `now` in milliseconds since 1970; `stamp` as the interface writes times: RFC 3339, UTC,
 * six digits of a second and `Z`, each later than the one before, so that an order by time is the order of events.
 */
export interface Clock {
  now(): number;
  stamp(): string;
}

/** @param now milliseconds since 1970 */
export function createClock(now: () => number = Date.now): Clock {
  let lastMicros = 0;
  return {
    now,
    stamp() {
      lastMicros = Math.max(lastMicros + 1, Math.floor(now()) * 1000);
      const millis = Math.floor(lastMicros / 1000);
      const rest = String(lastMicros % 1000).padStart(3, '0');
      return new Date(millis).toISOString().replace('Z', `${rest}Z`);
    },
  };
}
