import { naiveTimestamp } from '../event-time.ts';

/** Gives each event a later time than the one before, whatever the machine's clock does. */
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
