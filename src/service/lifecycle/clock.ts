/** `now` in ms since 1970; `stamp` in RFC 3339 with six digits, each later than the last. */
export interface Clock {
  now(): number;
  stamp(): string;
}

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
    this.#last =
      last === null ? 0 : Date.parse(`${last.slice(0, 23)}Z`) * 1000 + Number(last.slice(23, 26));
  }

  next(): string {
    this.#last = Math.max(Math.floor(this.#now()), this.#last + 1);
    return naiveTimestamp(this.#last);
  }
}

/** `2026-01-31T10:12:29.758035`: a naive UTC time, as genuine servers have it in events. */
export function naiveTimestamp(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(Math.floor(microseconds) - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().slice(0, -1) + rest;
}

export function zonedTimestamp(microseconds: number): string {
  return `${naiveTimestamp(microseconds)}Z`;
}
