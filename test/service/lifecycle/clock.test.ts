import { describe, expect, it } from 'vitest';
import {
  createClock,
  EventClock,
  naiveTimestamp,
  zonedTimestamp,
} from '../../../src/service/lifecycle/clock.ts';

describe('the clock', () => {
  it('returns increasing times, also after the system clock was set back', () => {
    const times = [1000, 1000, 999, 1001];
    const clock = createClock(() => times.shift() ?? 0);
    const stamps = [clock.stamp(), clock.stamp(), clock.stamp(), clock.stamp()];
    expect(stamps[0]).toBe('1970-01-01T00:00:01.000000Z');
    expect([...stamps].sort()).toEqual(stamps);
    expect(new Set(stamps).size).toBe(4);
  });
});

describe('the clock of a log', () => {
  it('continues after the newest event, also when the system clock is behind it', () => {
    const times = [1_000_000, 5_000_000, 5_000_000, 4_000_000];
    const clock = new EventClock(() => times.shift() ?? 0, '1970-01-01T00:00:02.000007');
    expect([clock.next(), clock.next(), clock.next(), clock.next()]).toEqual([
      '1970-01-01T00:00:02.000008',
      '1970-01-01T00:00:05.000000',
      '1970-01-01T00:00:05.000001',
      '1970-01-01T00:00:05.000002',
    ]);
  });

  it('begins with the time of the system in an empty log', () => {
    expect(new EventClock(() => 1_234_567.9, null).next()).toBe('1970-01-01T00:00:01.234567');
  });
});

it('a time has six digits of a second, and a Z except in events', () => {
  expect([naiveTimestamp(1), zonedTimestamp(999_999)]).toEqual([
    '1970-01-01T00:00:00.000001',
    '1970-01-01T00:00:00.999999Z',
  ]);
});
