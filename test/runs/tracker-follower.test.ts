/** Where the follower of a tracker starts, and how it is ended. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../src/runs/follow-source.ts';
import type { TrackOptions } from '../../src/runs/tracker.ts';
import { settled } from '../support/test-clock.ts';
import { message, Stage, statusEvent } from './support/source.ts';

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

describe('the follower of a tracker', () => {
  it.each<[string, Partial<TrackOptions>]>([
    ['at the beginning', {}],
    ['at a time', { since: '2026-01-01T00:00:00Z' }],
    ['after an event', { afterEventId: 'e1' }],
  ])('starts %s', async (_, start) => {
    void stage.watch(start);
    await stage.deliver(stage.state('running'));
    const { signal, ...from } = stage.follows[0]!;
    expect([from, signal.aborted]).toEqual([start, false]);
  });

  /**
   * Delivers the end of a run. Then no item comes; the last request fails when the server is
   * stopped.
   */
  function endedBy(end?: () => Promise<never>): { requests: number } {
    const counted = { requests: 0 };
    const items: FollowItem[] = [
      message(),
      statusEvent('running'),
      statusEvent('other'),
      stage.state('finished'),
    ];
    stage.follower = ({ signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          counted.requests += 1;
          const value = items.shift();
          if (value !== undefined) return Promise.resolve({ value });
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          );
        },
        ...(end === undefined ? {} : { return: end }),
      }),
    });
    return counted;
  }

  it('is requested for one item at a time, and for none after the outcome', async () => {
    const counted = endedBy();
    expect((await stage.watch()).outcome.exit_code).toBe(0);
    expect(counted.requests).toBe(4);
  });

  it('is ended although its end fails', async () => {
    let ends = 0;
    endedBy(() => {
      ends += 1;
      return Promise.reject(new Error('no connection'));
    });
    expect((await stage.watch()).outcome.exit_code).toBe(0);
    expect(ends).toBe(1);
  });

  it('is ended although the request in flight fails', async () => {
    endedBy();
    void stage.watch({
      wanted: ['archived'],
      deadlineMs: 1_000,
      waitMs: 1_000,
      atDeadline: 'stop',
    });
    await stage.clock.pass(1_000);
    await settled();
    expect(stage.ended?.run.outcome.exit_code).toBe(124);
  });
});
