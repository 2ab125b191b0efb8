import { beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../../src/commands/context.ts';
import { AppError } from '../../../src/base/errors.ts';
import { withinDeadline, type TimedContext } from '../../../src/commands/shared/derived-context.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import { settled, TestClock } from '../../support/test-clock.ts';

let clock: TestClock;
let interruption: AbortController;
/** The signals that the active server was connected with. */
let within: unknown[];

/** A server that has its signal. */
interface BoundServer {
  signal: AbortSignal | null;
}
const bound = (signal: AbortSignal | null): Server =>
  ({
    signal,
    withSignal: (other: AbortSignal) => Promise.resolve(bound(other)),
  }) as unknown as Server;
const signalOf = (server: Server): AbortSignal | null => (server as unknown as BoundServer).signal;

function context(): Context {
  return {
    clock,
    signal: interruption.signal,
    exitCode: 0,
    servers: {
      active: (_: undefined, signal: AbortSignal) => {
        within.push(signal);
        return Promise.resolve(bound(null));
      },
    },
  } as unknown as Context;
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );

beforeEach(() => {
  clock = new TestClock();
  interruption = new AbortController();
  within = [];
});

describe('work within a deadline', () => {
  const limits = { deadlineMs: 60_000, waitMs: 60_000 };

  it('returns what the work returns, and leaves no timer', async () => {
    const ctx = context();
    const result = await withinDeadline(ctx, limits, (timed) => {
      expect(timed.deadline).toMatchObject(limits);
      timed.exitCode = 8;
      return Promise.resolve(timed.exitCode);
    });
    expect([result, ctx.exitCode, clock.sleeping]).toEqual([8, 8, 0]);
  });

  it('is aborted at the deadline with an error that the deadline recognises', async () => {
    await clock.pass(10_000);
    let isOver: boolean[] = [];
    const work = withinDeadline(context(), limits, async (timed) => {
      try {
        return await aborted(timed.signal);
      } catch (error) {
        isOver = [
          timed.deadline.isOver(error),
          timed.deadline.isOver(new AppError('timeout', 'another')),
        ];
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
    const work = withinDeadline(context(), limits, (timed) => aborted(timed.signal));
    work.catch(() => undefined);
    interruption.abort(new AppError('interrupted', 'SIGINT'));
    await expect(work).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it('opens one server, which obeys the deadline', async () => {
    const [first, second] = await withinDeadline(context(), limits, async (timed) => {
      const both = [await timed.servers.active(), await timed.servers.active()];
      expect([within, both.map(signalOf)]).toEqual([[timed.signal], [timed.signal, timed.signal]]);
      return both;
    });
    expect(first).toBe(second);
  });
});

describe('a last read after the deadline', () => {
  const reading = (work: (timed: TimedContext) => Promise<unknown>): Promise<unknown> =>
    withinDeadline(context(), { deadlineMs: 0, waitMs: 0 }, work);

  it('reads with a server that obeys a limit of its own, and leaves no timer', async () => {
    const answer = await reading(({ deadline: { lastRead } }) =>
      lastRead(bound(null), (server) => {
        expect(signalOf(server)?.aborted).toBe(false);
        return Promise.resolve('the answer');
      }),
    );
    expect([answer, clock.sleeping]).toEqual(['the answer', 0]);
  });

  it('ends after 5 s', async () => {
    const work = reading(({ deadline: { lastRead } }) =>
      lastRead(bound(null), (server) => aborted(signalOf(server)!)),
    );
    await clock.pass(4_999);
    expect(clock.sleeping).toBe(1);
    await clock.pass(1);
    expect(await work).toBeNull();
  });

  it('is aborted by the signal of the command', async () => {
    const work = reading(({ deadline: { lastRead } }) =>
      lastRead(bound(null), (server) => aborted(signalOf(server)!)),
    );
    work.catch(() => undefined);
    await settled();
    interruption.abort(new AppError('interrupted', 'SIGINT'));
    await expect(work).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it.each([
    ['network', true],
    ['server', true],
    ['rate-limited', true],
    ['not-found', false],
    ['auth', false],
    ['timeout', false],
    ['interrupted', false],
  ] as const)('that fails with %s returns null: %s', async (kind, passes) => {
    const error = new AppError(kind, kind);
    const read = reading(({ deadline: { lastRead } }) =>
      lastRead(bound(null), () => Promise.reject(error)),
    );
    await (passes ? expect(read).resolves.toBeNull() : expect(read).rejects.toBe(error));
  });
});
