/**
 * A run of which nothing is known: the tracker reads the events of the latest run before it
 * follows.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { event, message, Stage, statusEvent } from './support/source.ts';

const hangs = (): Promise<never> => new Promise(() => undefined);
const at = (second: number): string => `2026-01-01T00:00:0${second}Z`;

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

/** The newest comes first. */
const stores = (...newestFirst: { event: Stage['stored'][number] }[]): void => {
  stage.stored = newestFirst.map((item) => item.event);
};

describe('the first read of a run', () => {
  it('has the events that the first record is judged by', async () => {
    stores(statusEvent('other'), message());
    const watched = stage.watchUnread();
    await stage.deliver(stage.state('finished'));
    const { outcome } = await watched;
    expect([outcome.exit_code, outcome.last_event_id]).toEqual([0, stage.stored[0]?.id]);
    expect(stage.looks).toEqual([]);
  });

  it('shows whether the conversation has a run', async () => {
    const states: string[] = [];
    const onState = ({ status }: { status: string }, run: string) =>
      void states.push(`${status} ${run}`);
    void stage.watchUnread({ onState });
    await stage.deliver(stage.state('idle'));
    expect(states).toEqual(['idle none']);
    stage = new Stage();
    stores(message());
    void stage.watchUnread({ onState });
    await stage.deliver(stage.state('idle'));
    expect(states).toEqual(['idle none', 'idle perhaps-older']);
  });

  it('is followed from the newest event on', async () => {
    stores(event('status:running', at(2)), event('message', at(1)));
    void stage.watchUnread();
    await stage.deliver(stage.state('finished'));
    await stage.clock.pass(400);
    expect(stage.ended).toBeNull();
    expect(stage.follows.map(({ since, afterEventId }) => [since, afterEventId])).toEqual([
      [at(2), undefined],
    ]);
  });

  it.each([
    ['has no event', [], {}, {}],
    ['has an event without a time', [event(null)], {}, {}],
    ['has a time to start at', [event(null, at(3))], { since: at(1) }, { since: at(1) }],
    [
      'has an event to start after',
      [event(null, at(3))],
      { afterEventId: 'e1' },
      { afterEventId: 'e1' },
    ],
  ])('is followed from where a run that %s begins', async (_, newestFirst, options, start) => {
    stores(...newestFirst);
    void stage.watchUnread(options);
    await stage.clock.pass(0);
    expect(stage.follows.map(({ since, afterEventId }) => ({ since, afterEventId }))).toEqual([
      start,
    ]);
  });

  it('names the newest event in the notice of a run without events', async () => {
    stores(event('activity', at(1)), message());
    void stage.watchUnread();
    await stage.clock.pass(600_000);
    expect(stage.notices).toEqual(['no event of c for 10m; the last was: the event activity']);
  });

  it.each(['network', 'auth'] as const)('throws its error: %s', async (kind) => {
    const error = new AppError(kind, kind);
    Object.defineProperty(stage, 'stored', {
      get: () => {
        throw error;
      },
    });
    await expect(stage.watchUnread()).rejects.toBe(error);
  });

  it('is the only one when the deadline is over before it, for 5 s', async () => {
    stage.onLook = hangs;
    void stage.watchUnread({ deadlineMs: 0, waitMs: 0 });
    await stage.clock.pass(4_999);
    expect(stage.ended).toBeNull();
    await stage.clock.pass(1);
    expect(stage.ended).toMatchObject({ atMs: 5_000, run: { outcome: { exit_code: 124 } } });
    expect(stage.looks).toEqual([0]);
  });
});

describe('a conversation that the follower does not find', () => {
  const missing = new AppError('not-found', 'no such event');

  it.each([
    ['until 5 s after the deadline', 60_000, 65_000],
    ['for 5 s when the deadline is over', 10_000, 15_000],
  ])('is looked up %s, and then the error is thrown', async (_, deadlineMs, endMs) => {
    stage.get = hangs;
    const watched = stage.watch({ deadlineMs, waitMs: deadlineMs });
    let error: unknown = null;
    watched.catch((thrown: unknown) => (error = thrown));
    await stage.clock.pass(10_000 - 1);
    await stage.fail(missing);
    await stage.clock.pass(endMs - 10_000);
    expect(error).toBeNull();
    await stage.clock.pass(1);
    expect(error).toBe(missing);
  });

  it('exists when its record can be read, and was deleted when it cannot', async () => {
    const watched = stage.watch();
    await stage.fail(missing);
    await expect(watched).rejects.toBe(missing);
    stage = new Stage();
    stage.get = () => Promise.reject(new AppError('not-found', 'deleted'));
    void stage.watch();
    await stage.fail(missing);
    expect(stage.ended?.run.outcome).toMatchObject({ status: 'deleted', exit_code: 5 });
  });
});
