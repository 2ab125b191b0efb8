/** Time in the service: the clock of the app server, the clock of a log of events, and the forms of their times. */

/**
 * The clock of the app server. `now` in milliseconds since 1970; `stamp` as the interface writes times: RFC 3339, UTC,
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
      return zonedTimestamp(lastMicros);
    },
  };
}

/** Each event has a later time than the one before, also when the system clock is set back. */
export class EventClock {
  readonly #now: () => number;
  #last: number;

  /** `now` in microseconds since 1970; `last` is the newest time in the log, naive, or null. */
  constructor(now: () => number, last: string | null) {
    this.#now = now;
    this.#last = last === null ? 0 : Date.parse(`${last.slice(0, 23)}Z`) * 1000 + Number(last.slice(23, 26));
  }

  next(): string {
    this.#last = Math.max(Math.floor(this.#now()), this.#last + 1);
    return naiveTimestamp(this.#last);
  }
}

/**
 * Microseconds since 1970 as a naive UTC time such as `2026-01-31T10:12:29.758035`, the form of genuine servers for events.
 * Times of one form are compared as texts.
 */
export function naiveTimestamp(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(Math.floor(microseconds) - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().slice(0, -1) + rest;
}

/** The same with `Z`, the form for everything but events. */
export function zonedTimestamp(microseconds: number): string {
  return `${naiveTimestamp(microseconds)}Z`;
}
