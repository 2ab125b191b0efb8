import { beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import { AppError, type ErrorKind } from '../../src/errors.ts';
import * as deadline from '../../src/runs/deadline.ts';
import type { Server } from '../../src/servers/server.ts';
import { TestClock, settled } from '../support/test-clock.ts';

let clock: TestClock;
let interruption: AbortController;
/** The signals that `server` and `servers` were called with. */
let within: unknown[];

/** A server that has its signal. */
interface BoundServer {
  signal: AbortSignal | null;
}
const bound = (signal: AbortSignal | null): Server =>
  ({ signal, withSignal: (other: AbortSignal) => Promise.resolve(bound(other)) }) as unknown as Server;
const signalOf = (server: Server): AbortSignal | null => (server as unknown as BoundServer).signal;

function context(): Context {
  return {
    clock,
    signal: interruption.signal,
    exitCode: 0,
    server: (signal: AbortSignal) => {
      within.push(signal);
      return Promise.resolve(bound(null));
    },
    servers: (signal: AbortSignal) => {
      within.push(signal);
      return Promise.resolve([{ profile: 'a', server: Promise.resolve(bound(null)) }]);
    },
  } as unknown as Context;
}

const never = (): Promise<never> => new Promise(() => undefined);
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

beforeEach(() => {
  clock = new TestClock();
  interruption = new AbortController();
  within = [];
});

describe('work within a deadline', () => {
  const limits = { deadlineMs: 60_000, waitMs: 60_000 };

  it('has limits that count from now', async () => {
    await clock.pass(5_000);
    expect(deadline.limitsAfter({ clock }, 60_000)).toEqual({ waitMs: 60_000, deadlineMs: 65_000 });
  });

  it('returns what the work returns, and leaves no timer', async () => {
    const ctx = context();
    const result = await deadline.withinDeadline(ctx, limits, (timed) => {
      expect(timed.deadline).toMatchObject(limits);
      timed.exitCode = 8;
      return Promise.resolve(timed.exitCode);
    });
    expect([result, ctx.exitCode, clock.sleeping]).toEqual([8, 8, 0]);
  });

  it('is aborted at the deadline with an error that the deadline recognises', async () => {
    await clock.pass(10_000);
    let isOver: boolean[] = [];
    const work = deadline.withinDeadline(context(), limits, async (timed) => {
      try {
        return await aborted(timed.signal);
      } catch (error) {
        isOver = [timed.deadline.isOver(error), timed.deadline.isOver(new AppError('timeout', 'another'))];
        throw error;
      }
    });
    work.catch(() => undefined);
    await clock.pass(49_999);
    expect(isOver).toEqual([]);
    await clock.pass(1);
    await expect(work).rejects.toMatchObject({
      kind: 'timeout',
      message: 'the server did not answer within 1m',
      details: { data: { reason: 'timeout' } },
    });
    expect(isOver).toEqual([true, false]);
  });

  it('is aborted by the signal of the command', async () => {
    const work = deadline.withinDeadline(context(), limits, (timed) => aborted(timed.signal));
    work.catch(() => undefined);
    interruption.abort(new AppError('interrupted', 'SIGINT'));
    await expect(work).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it('opens one server, which obeys the deadline', async () => {
    const [first, second] = await deadline.withinDeadline(context(), limits, async (timed) => {
      const both = [await timed.server(), await timed.server()];
      expect([within, both.map(signalOf)]).toEqual([[timed.signal], [timed.signal, timed.signal]]);
      return both;
    });
    expect(first).toBe(second);
  });

  it('opens several servers, which obey the deadline', async () => {
    await deadline.withinDeadline(context(), limits, async (timed) => {
      const opened = await timed.servers();
      expect(opened.map(({ profile }) => profile)).toEqual(['a']);
      for (const { server } of opened) expect(signalOf(await server)).toBe(timed.signal);
      expect(within).toEqual([timed.signal]);
    });
  });
});

describe('a last look after the deadline', () => {
  const looking = (work: (timed: deadline.TimedContext) => Promise<unknown>): Promise<unknown> =>
    deadline.withinDeadline(context(), { deadlineMs: 0, waitMs: 0 }, work);
  const failing = (kind: ErrorKind) => () => Promise.reject(new AppError(kind, kind));

  it('reads with a server that obeys a limit of its own, and leaves no timer', async () => {
    const looked = await looking(({ deadline: { lastLook } }) =>
      lastLook(bound(null), (server, ctx) => {
        expect(signalOf(server)?.aborted).toBe(false);
        expect(ctx.signal).toBe(interruption.signal);
        return Promise.resolve('the answer');
      }),
    );
    expect([looked, clock.sleeping]).toEqual(['the answer', 0]);
  });

  it('ends after 5 s, which all looks of a command share', async () => {
    const ends: number[] = [];
    const work = looking(async ({ deadline: { lastLook } }) => {
      await lastLook(bound(null), () => clock.sleep(3_000));
      for (let look = 0; look < 2; look++) {
        expect(await lastLook(bound(null), (server) => aborted(signalOf(server)!))).toBeNull();
        ends.push(clock.now());
      }
    });
    await clock.pass(20_000);
    await work;
    expect(ends).toEqual([5_000, 5_000]);
  });

  it('is aborted by the signal of the command', async () => {
    const work = looking(({ deadline: { lastLook } }) => lastLook(bound(null), (server) => aborted(signalOf(server)!)));
    work.catch(() => undefined);
    await settled();
    interruption.abort(new AppError('interrupted', 'SIGINT'));
    await expect(work).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it.each(['network', 'server', 'rate-limited'] as const)('is null after an error that passes: %s', async (kind) => {
    expect(await looking(({ deadline: { lastLook } }) => lastLook(bound(null), failing(kind)))).toBeNull();
  });

  it.each(['not-found', 'auth'] as const)('throws an error that does not pass: %s', async (kind) => {
    await expect(looking(({ deadline: { lastLook } }) => lastLook(bound(null), failing(kind)))).rejects.toMatchObject({
      kind,
    });
  });
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

  it.each([deadline.LONGEST_TIMER_MS, Infinity])('of %d ms, which no timer holds, has none', (dueMs) => {
    deadline.timeLimit({ clock }, dueMs).clear();
    expect(clock.pauses).toEqual([]);
  });

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
    await expect(deadline.beforeTime({ clock }, 1_000, [Promise.reject(new Error('b'))])).rejects.toThrow('b');
    expect([clock.pauses, clock.sleeping]).toEqual([[1_000, 1_000], 0]);
  });

  it('is the time when none settles', async () => {
    const first = deadline.beforeTime({ clock }, 1_000, [never()]);
    await clock.pass(1_000);
    expect(await first).toBe('time');
  });

  it('is waited for without a timer when there is no limit', async () => {
    expect(await deadline.beforeTime({ clock }, Infinity, [Promise.resolve('a')])).toBe('a');
    expect(clock.pauses).toEqual([]);
  });

  it('is waited for as long as a timer holds', async () => {
    await deadline.beforeTime({ clock }, 3e9, [Promise.resolve('a')]);
    expect(clock.pauses).toEqual([deadline.LONGEST_TIMER_MS]);
  });
});

describe('an answer before the end of a command', () => {
  it.each([
    [60_000, 55_000],
    [0, 5_000],
  ])('with the deadline at %i ms comes within %i ms from 10,000 ms on', async (deadlineMs, endMs) => {
    await clock.pass(10_000);
    const answer = deadline.beforeEnd({ clock }, { deadlineMs }, never());
    expect(clock.pauses).toEqual([endMs]);
    await clock.pass(endMs);
    expect(await answer).toBe('time');
    expect(await deadline.beforeEnd({ clock }, { deadlineMs }, Promise.resolve('a'))).toBe('a');
  });
});

describe('an error that passes', () => {
  it.each([
    ['network', true],
    ['server', true],
    ['rate-limited', true],
    ['not-found', false],
    ['timeout', false],
    ['interrupted', false],
  ] as const)('is one of kind %s: %s', (kind, passes) => {
    expect(deadline.isPassing(new AppError(kind, kind))).toBe(passes);
  });

  it('is no error of another class', () => {
    expect(deadline.isPassing(new TypeError('network'))).toBe(false);
    expect(deadline.isPassing({ kind: 'network' })).toBe(false);
  });
});
