import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { poll, QUICK } from '../../src/runs/poll.ts';

/** Time passes in pauses alone, and each pause is kept. */
function pausingClock(): Clock & { pauses: number[] } {
  const pauses: number[] = [];
  let nowMs = 0;
  return {
    pauses,
    now: () => nowMs,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason as Error);
      pauses.push(ms);
      nowMs += ms;
      return Promise.resolve();
    },
  };
}

const never = new AbortController().signal;
const nothing = (): Promise<undefined> => Promise.resolve(undefined);

describe('poll', () => {
  it('returns what the first look returns without a pause', async () => {
    const clock = pausingClock();
    expect(await poll(() => Promise.resolve(0), { clock, signal: never, every: QUICK })).toBe(0);
    expect(clock.pauses).toEqual([]);
  });

  it('looks first after the first pause when the state was read before', async () => {
    const clock = pausingClock();
    const there = (): Promise<string> => Promise.resolve('there');
    const every = { firstMs: 100, mostMs: 200 };
    expect(await poll(there, { clock, signal: never, every, readBefore: true })).toBe('there');
    expect(clock.pauses).toEqual([100]);
  });

  it('pauses longer after each look, up to the longest pause', async () => {
    const clock = pausingClock();
    let looks = 0;
    const fifth = (): Promise<string | undefined> => Promise.resolve(++looks < 5 ? undefined : 'there');
    expect(await poll(fifth, { clock, signal: never, every: { firstMs: 100, mostMs: 200 } })).toBe('there');
    expect(clock.pauses).toEqual([100, 150, 200, 200]);
  });

  it('looks once more at the end of its time and then returns undefined', async () => {
    const clock = pausingClock();
    const looksAtMs: number[] = [];
    const look = (): Promise<undefined> => {
      looksAtMs.push(clock.now());
      return nothing();
    };
    expect(await poll(look, { clock, signal: never, every: { firstMs: 60, mostMs: 60 }, until: 100 })).toBeUndefined();
    expect(looksAtMs).toEqual([0, 60, 120]);
  });

  it('throws what a look throws', async () => {
    const clock = pausingClock();
    const look = (): Promise<undefined> => Promise.reject(new Error('no answer'));
    await expect(poll(look, { clock, signal: never, every: QUICK })).rejects.toThrow('no answer');
  });

  it('throws the reason of the signal in a pause', async () => {
    const stop = new AbortController();
    const look = (): Promise<undefined> => {
      stop.abort(new Error('interrupted'));
      return nothing();
    };
    await expect(poll(look, { clock: pausingClock(), signal: stop.signal, every: QUICK })).rejects.toThrow(
      'interrupted',
    );
  });
});
