/**
 * The ends of tracking besides that of the run: the deadline, errors, signals, answers to a
 * confirmation.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { blankConversation } from '../../src/domain/conversation.ts';
import { AppError } from '../../src/base/errors.ts';
import { beforeRun } from '../../src/runs/outcome.ts';
import type { Answerer } from '../../src/runs/tracker.ts';
import { event, message, Stage, statusEvent } from './support/source.ts';

const limits = { deadlineMs: 60_000, waitMs: 60_000 };
const hangs = (): Promise<never> => new Promise(() => undefined);

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

describe('the deadline of tracking', () => {
  it('leaves the time after it to a stop', async () => {
    void stage.watch({ ...limits, atDeadline: 'stop' });
    await stage.deliver(stage.state('running'));
    await stage.clock.pass(60_000);
    expect([stage.looks, stage.ended?.atMs]).toEqual([[], 60_000]);
    expect(stage.ended?.run).toMatchObject({
      outcome: { status: 'running', exit_code: 124 },
      failure: { message: 'conversation c is still running after 1m; it continues' },
    });
  });

  it('is followed by a read of 5 s at most', async () => {
    void stage.watch(limits);
    await stage.deliver(stage.state('running'));
    stage.onLook = hangs;
    await stage.clock.pass(120_000);
    expect([stage.looks, stage.ended?.atMs]).toEqual([[60_000], 65_000]);
    expect(stage.ended?.run.failure?.message).toBe(
      'the server did not answer within 1m; the last known status of conversation c is running',
    );
  });

  it('ends a read that was under way', async () => {
    void stage.watch({ deadlineMs: 3_000, waitMs: 3_000 });
    await stage.deliver(message(), stage.state('finished'));
    stage.onLook = hangs;
    await stage.clock.pass(60_000);
    expect([stage.looks, stage.ended?.atMs]).toEqual([[500, 3_000], 8_000]);
    const late = { message: 'the deadline has passed' };
    expect(stage.lookSignals.map(({ reason }) => reason as unknown)).toMatchObject([
      late,
      { name: 'AbortError' },
    ]);
    expect(stage.ended?.run.outcome).toMatchObject({ status: 'unknown(not-read)', exit_code: 124 });
  });

  it('accepts a status that contradicts the events unless the sandbox confirms them', async () => {
    void stage.watch({ deadlineMs: 1_000, waitMs: 1_000 });
    await stage.deliver(message(), statusEvent('running'), stage.state('finished'));
    await stage.clock.pass(1_000);
    expect(stage.ended?.run).toMatchObject({ outcome: { exit_code: 0 }, failure: null });
    const other = new Stage();
    other.inSandbox = () => Promise.resolve(true);
    void other.watch({ deadlineMs: 1_000, waitMs: 1_000 });
    await other.deliver(message(), statusEvent('running'), other.state('finished'));
    await other.clock.pass(1_000);
    expect(other.ended?.run).toMatchObject({
      outcome: { exit_code: 124 },
      failure: { message: 'after 1s conversation c shows no status of the requested run' },
    });
  });

  it('leaves 5 s in all to the read and the sandbox', async () => {
    stage.inSandbox = hangs;
    void stage.watch(limits);
    await stage.deliver(message(), statusEvent('running'), stage.state('running'));
    stage.onLook = () => stage.clock.sleep(2_000);
    stage.state('finished');
    await stage.clock.pass(120_000);
    expect([stage.looks, stage.ended?.atMs]).toEqual([[60_000], 65_000]);
    expect(stage.ended?.run.outcome.exit_code).toBe(0);
  });

  it('is followed by another follower, which starts after the last event and shows those before the end', async () => {
    const shown: string[] = [];
    void stage.watch({ ...limits, onEvent: ({ id }) => Promise.resolve(void shown.push(id)) });
    const last = event('status:running', '2026-01-01T00:00:00Z');
    await stage.deliver(message(), last, stage.state('running'));
    stage.onLook = () => stage.deliver(statusEvent('other'));
    await stage.clock.pass(60_000);
    stage.onLook = () => undefined;
    stage.state('finished');
    await stage.clock.pass(60_000);
    expect(
      stage.follows.map(({ since, afterEventId, extent }) => [since, afterEventId, extent]),
    ).toEqual([
      [undefined, undefined, undefined],
      ['2026-01-01T00:00:00Z', last.event.id, 'once'],
    ]);
  });

  it('starts that follower where the first one started when no event was delivered', async () => {
    void stage.watch({ ...limits, since: '2026-01-01T00:00:00Z', summary: beforeRun(null) });
    await stage.deliver(stage.state('running'));
    stage.state('finished');
    await stage.clock.pass(120_000);
    expect(stage.follows.map(({ since }) => since)).toEqual([
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00Z',
    ]);
    expect(stage.ended).toMatchObject({ atMs: 60_000, run: { outcome: { exit_code: 0 } } });
  });

  it('is 124 when the last read fails with an error that may pass, and throws any other', async () => {
    const watch = async (error: Error): Promise<{ watched: Promise<unknown>; stage: Stage }> => {
      const failing = new Stage();
      const watched = failing.watch(limits);
      watched.catch(() => undefined);
      await failing.deliver(message(), statusEvent('running'), failing.state('running'));
      failing.onLook = () => Promise.reject(error);
      await failing.clock.pass(60_000);
      return { watched, stage: failing };
    };
    const passing = await watch(new AppError('network', 'no connection'));
    expect(passing.stage.ended).toMatchObject({
      atMs: 60_000,
      run: { outcome: { status: 'running', exit_code: 124 } },
    });
    const fault = new TypeError('a fault in acs');
    await expect((await watch(fault)).watched).rejects.toBe(fault);
  });

  it('has no outcome when a signal ends the last read', async () => {
    const watched = stage.watch(limits);
    await stage.deliver(message(), statusEvent('running'), stage.state('running'));
    stage.onLook = hangs;
    await stage.clock.pass(60_000);
    stage.interruption.abort(new AppError('interrupted', 'SIGINT', { exitCode: 130 }));
    expect((await watched).outcome.exit_code).toBe(130);
  });
});

describe('a follower that ends or fails', () => {
  it.each([
    ['finished', 0, null],
    ['running', 6, { code: 'running', text: 'the conversation is running' }],
  ] as const)('ends with the newest record: %s is %i', async (status, code, reason) => {
    void stage.watch();
    await stage.deliver(message(), statusEvent('running'), stage.state(status));
    await stage.over();
    expect(stage.ended?.run).toMatchObject({ outcome: { exit_code: code, reason }, failure: null });
  });

  it('is that of a conversation that was deleted', async () => {
    void stage.watch();
    await stage.deliver(message());
    stage.get = () => Promise.reject(new AppError('not-found', 'deleted'));
    await stage.fail(new AppError('not-found', 'deleted'));
    expect(stage.ended?.run).toMatchObject({
      outcome: { status: 'deleted', exit_code: 5, last_event_id: stage.lastEventId },
      failure: null,
    });
  });

  it('fails when only an event is missing, or when the record is not answered', async () => {
    const missing = new AppError('not-found', 'there is no event e1');
    const watched = stage.watch();
    watched.catch(() => undefined);
    await stage.fail(missing);
    await expect(watched).rejects.toBe(missing);
    const other = new Stage();
    const unanswered = other.watch(limits);
    unanswered.catch(() => undefined);
    other.get = hangs;
    await other.fail(missing);
    await other.clock.pass(65_000);
    await expect(unanswered).rejects.toBe(missing);
  });

  it.each([
    new AppError('auth', 'refused'),
    new TypeError('a fault in acs'),
    // The reader of stdout went away.
    new AppError('interrupted', 'closed', { exitCode: 141 }),
  ])('fails with its error: %s', async (error) => {
    stage.get = () => Promise.reject(new AppError('not-found', 'deleted'));
    const watched = stage.watch();
    watched.catch(() => undefined);
    await stage.deliver(stage.state('running'));
    if ('exitCode' in error && error.exitCode === 141) stage.interruption.abort(error);
    await stage.fail(error);
    await expect(watched).rejects.toBe(error);
  });

  it('fails with the reason of another signal than that of the command', async () => {
    const error = new AppError('interrupted', 'another run has ended first');
    const other = new AbortController();
    const watched = stage.watch({ signal: other.signal });
    watched.catch(() => undefined);
    await stage.deliver(stage.state('running'));
    other.abort(error);
    await expect(watched).rejects.toBe(error);
  });

  it('names no status when the newest one may be that of the run before', async () => {
    const watched = stage.watch({ seen: blankConversation('c', 'running') });
    await stage.deliver(message(), stage.state('finished'));
    stage.interruption.abort(new AppError('interrupted', 'SIGINT', { exitCode: 130 }));
    expect(await watched).toMatchObject({
      outcome: { status: 'unknown(not-read)', exit_code: 130 },
      failure: { message: 'SIGINT; conversation c continues' },
    });
  });
});

describe('a confirmation that is answered while the run is tracked', () => {
  class Asker implements Answerer {
    asked = 0;
    happened = 0;
    closed = 0;
    settle: (how: 'answered' | 'left') => void = () => undefined;
    onHappened: () => Promise<void> = () => Promise.resolve(void (this.happened += 1));
    onWaiting(): Promise<'answered' | 'left'> {
      this.asked += 1;
      return new Promise((resolve) => (this.settle = resolve));
    }
    close(): void {
      this.closed += 1;
    }
  }
  let answer: Asker;
  beforeEach(async () => {
    answer = new Asker();
    await stage.deliver(
      message(),
      statusEvent('running'),
      statusEvent('other'),
      stage.state('waiting'),
    );
  });

  it('ends tracking when it is left', async () => {
    void stage.watch({ answer });
    await stage.clock.pass(1_000);
    expect([answer.asked, stage.ended]).toEqual([1, null]);
    answer.settle('left');
    await stage.clock.pass(0);
    expect([stage.ended?.run.outcome.exit_code, answer.closed]).toEqual([8, 1]);
  });

  it('ends tracking with the newest outcome when it is left', async () => {
    void stage.watch({ answer });
    await stage.clock.pass(1_000);
    await stage.deliver(stage.state('running'), stage.state('waiting', { cost_usd: 2 }));
    answer.settle('left');
    await stage.clock.pass(0);
    expect([stage.ended?.run.outcome.cost_usd, answer.asked]).toEqual([2, 1]);
  });

  it('has the record read 250 ms after it was answered', async () => {
    void stage.watch({ answer });
    await stage.clock.pass(1_000);
    stage.state('finished');
    answer.settle('answered');
    await stage.clock.pass(1_000);
    expect(stage.looks).toEqual([1_250]);
    expect(stage.ended).toMatchObject({ atMs: 1_250, run: { outcome: { status: 'finished' } } });
  });

  it('is answered again when the run waits again', async () => {
    void stage.watch({ answer });
    await stage.clock.pass(1_000);
    answer.settle('answered');
    await stage.clock.pass(100);
    await stage.deliver(stage.state('running'), event('activity'), stage.state('waiting'));
    expect([answer.asked, stage.ended]).toEqual([2, null]);
  });

  it('stays open while events come, and is checked before each is shown', async () => {
    const shown: number[] = [];
    void stage.watch({ answer, onEvent: () => Promise.resolve(void shown.push(answer.happened)) });
    await stage.deliver(event('activity'), event('activity'));
    expect([answer.asked, shown, stage.ended]).toEqual([1, [0, 0, 0, 1, 2], null]);
  });

  it('is checked for 5 s at most, and not after the deadline', async () => {
    const shownAtMs: number[] = [];
    void stage.watch({
      ...limits,
      answer,
      onEvent: () => Promise.resolve(void shownAtMs.push(stage.clock.now())),
    });
    await stage.clock.pass(0);
    shownAtMs.splice(0);
    answer.onHappened = hangs;
    await stage.deliver(event('activity'));
    await stage.clock.pass(50_000);
    await stage.clock.pass(7_000);
    await stage.deliver(event('activity'));
    await stage.clock.pass(60_000);
    expect(shownAtMs).toEqual([5_000, 60_000]);
  });

  it('is the outcome at the deadline', async () => {
    void stage.watch({ ...limits, answer });
    await stage.clock.pass(59_999);
    expect(stage.ended).toBeNull();
    await stage.clock.pass(1);
    expect(stage.ended).toMatchObject({
      atMs: 60_000,
      run: { outcome: { exit_code: 8 }, failure: null },
    });
  });

  it('is not a run without events', async () => {
    void stage.watch({ answer, failOnStallMs: 60_000 });
    await stage.clock.pass(600_000);
    expect([stage.ended, answer.asked]).toEqual([null, 1]);
  });

  it('is the outcome of a signal at the prompt, which does not abort the command', async () => {
    const watched = stage.watch({ answer });
    await stage.clock.pass(0);
    await stage.fail(new AppError('interrupted', 'SIGINT', { exitCode: 130 }));
    expect((await watched).outcome).toMatchObject({ status: 'waiting', exit_code: 130 });
  });

  it('does not hide another error', async () => {
    const error = new AppError('auth', 'refused');
    const watched = stage.watch({ answer });
    watched.catch(() => undefined);
    await stage.clock.pass(0);
    await stage.fail(error);
    await expect(watched).rejects.toBe(error);
  });

  it('is the outcome at once without an answerer', async () => {
    void stage.watch();
    await stage.clock.pass(0);
    expect(stage.ended).toMatchObject({
      atMs: 0,
      run: { outcome: { exit_code: 8 }, failure: null },
    });
  });
});
