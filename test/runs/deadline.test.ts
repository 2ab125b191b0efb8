import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import * as deadline from '../../src/runs/deadline.ts';
import { TestClock } from '../support/test-clock.ts';

let clock: TestClock;

const never = (): Promise<never> => new Promise(() => undefined);

beforeEach(() => {
  clock = new TestClock();
});

it('limits count from now', async () => {
  await clock.pass(5_000);
  expect(deadline.limitsAfter({ clock }, 60_000)).toEqual({ waitMs: 60_000, deadlineMs: 65_000 });
});

describe('a limit of time', () => {
  it.each([
    [1_000, 1_000],
    [0, 0],
    [-5, 0],
    [deadline.LONGEST_TIMER_MS - 1, deadline.LONGEST_TIMER_MS - 1],
  ])('of %i ms aborts after %i ms with its reason', async (dueMs, afterMs) => {
    const reason = new AppError('timeout', 'over');
    const { signal } = deadline.timeLimit({ clock }, dueMs, reason);
    expect(clock.pauses).toEqual([afterMs]);
    if (afterMs > 0) await clock.pass(afterMs - 1);
    expect(signal.aborted).toBe(false);
    await clock.pass(1);
    expect(signal.reason).toBe(reason);
  });

  it.each([deadline.LONGEST_TIMER_MS, Infinity])(
    'of %d ms, which no timer holds, has none',
    (dueMs) => {
      deadline.timeLimit({ clock }, dueMs).clear();
      expect(clock.pauses).toEqual([]);
    },
  );

  it('that is cleared never aborts', async () => {
    const { signal, clear } = deadline.timeLimit({ clock }, 1_000);
    clear();
    await clock.pass(2_000);
    expect([signal.aborted, clock.sleeping]).toEqual([false, 0]);
  });
});

describe('the first of several promises', () => {
  it('is what settles before the time, and leaves no timer', async () => {
    expect(await deadline.beforeTime({ clock }, 1_000, [never(), Promise.resolve('a')])).toBe('a');
    await expect(
      deadline.beforeTime({ clock }, 1_000, [Promise.reject(new Error('b'))]),
    ).rejects.toThrow('b');
    expect([clock.pauses, clock.sleeping]).toEqual([[1_000, 1_000], 0]);
  });

  it('is the time when none settles', async () => {
    const first = deadline.beforeTime({ clock }, 1_000, [never()]);
    await clock.pass(1_000);
    expect(await first).toBe('time');
  });

  it.each([3e9, Infinity])(
    'is waited for without a timer when no timer holds the limit: %d',
    async (ms) => {
      expect(await deadline.beforeTime({ clock }, ms, [Promise.resolve('a')])).toBe('a');
      expect(clock.pauses).toEqual([]);
    },
  );
});

it('an error of another class does not pass', () => {
  expect(deadline.isPassing(new TypeError('network'))).toBe(false);
  expect(deadline.isPassing({ kind: 'network' })).toBe(false);
});
