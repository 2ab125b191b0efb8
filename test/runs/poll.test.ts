import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { poll, QUICK, STEADY } from '../../src/runs/poll.ts';
import { TestClock } from '../support/test-clock.ts';

const pausingClock = () => new TestClock({ movedBy: 'sleeps' });
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

  it('looks once more at the end of its time and then returns undefined', async () => {
    const clock = pausingClock();
    const looksAtMs: number[] = [];
    const look = (): Promise<undefined> => {
      looksAtMs.push(clock.now());
      return nothing();
    };
    expect(
      await poll(look, { clock, signal: never, every: { firstMs: 60, mostMs: 60 }, until: 100 }),
    ).toBeUndefined();
    expect(looksAtMs).toEqual([0, 60, 120]);
  });

  it('does not look after its time when a look is at its end', async () => {
    const clock = pausingClock();
    await poll(nothing, { clock, signal: never, every: { firstMs: 60, mostMs: 60 }, until: 120 });
    expect(clock.pauses).toEqual([60, 60]);
  });

  it.each([
    ['a second or two', QUICK, [50, 75, 112.5, 168.75, 253.125, 379.6875, 500]],
    ['minutes', STEADY, [200, 300, 450, 675, 1_012.5, 1_518.75, 2_000]],
  ] as const)('pauses for a state that takes %s', async (_, every, pauses) => {
    const clock = pausingClock();
    let looks = 0;
    const look = (): Promise<string | undefined> =>
      Promise.resolve(++looks > pauses.length ? 'there' : undefined);
    expect(await poll(look, { clock, signal: never, every })).toBe('there');
    expect(clock.pauses).toEqual(pauses);
  });

  it('throws what a look throws', async () => {
    const clock = pausingClock();
    const look = (): Promise<undefined> => Promise.reject(new Error('no answer'));
    await expect(poll(look, { clock, signal: never, every: QUICK })).rejects.toThrow('no answer');
  });

  const failing = (
    kind: 'server' | 'conflict',
    request = { method: 'GET', url: 'http://127.0.0.1/' },
  ) => new AppError(kind, 'no answer', { request });

  it('repeats a request that fails for less than 60 s, also after its time', async () => {
    const clock = pausingClock();
    const look = (): Promise<string> =>
      clock.now() < 59_000 ? Promise.reject(failing('server')) : Promise.resolve('there');
    expect(await poll(look, { clock, signal: never, every: STEADY, until: 1_000 })).toBe('there');
  });

  it.each([
    ['a request that fails for 60 s', failing('server'), {}, 60_000],
    ['a request that fails, where the caller repeats it', failing('server'), { outageMs: 0 }, 0],
    ['a refusal', failing('conflict'), {}, 0],
    ['a verdict on what was read', new AppError('server', 'another branch'), {}, 0],
  ])('throws the error of %s', async (_, error, options, leastMs) => {
    const clock = pausingClock();
    const look = (): Promise<undefined> => Promise.reject(error);
    await expect(poll(look, { clock, signal: never, every: STEADY, ...options })).rejects.toBe(
      error,
    );
    expect(Math.floor(clock.now() / 60_000) * 60_000).toBe(leastMs);
  });

  it('throws the reason of the signal in a pause', async () => {
    const stop = new AbortController();
    const look = (): Promise<undefined> => {
      stop.abort(new Error('interrupted'));
      return nothing();
    };
    await expect(
      poll(look, { clock: pausingClock(), signal: stop.signal, every: QUICK }),
    ).rejects.toThrow('interrupted');
  });
});
