import { beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';
import { AppError } from '../../src/errors.ts';
import type { FollowOptions } from '../../src/runs/follow-source.ts';
import { Following, trackerServers, type TrackerServers } from '../../src/runs/tracker-servers.ts';
import type { TrackOptions } from '../../src/runs/tracker-options.ts';
import type { Server } from '../../src/servers/server.ts';
import { ManualClock } from '../support/manual-clock.ts';

let clock: ManualClock;
let interruption: AbortController;
beforeEach(() => {
  clock = new ManualClock();
  interruption = new AbortController();
});

const options = (members: Partial<TrackOptions>) => ({ deadlineMs: 60_000, since: null, ...members }) as TrackOptions;

describe('the servers of a tracker', () => {
  const server = { withSignal: (signal: AbortSignal) => Promise.resolve({ signal }) } as unknown as Server;
  const opened = (members: Partial<TrackOptions> = {}): Promise<TrackerServers> =>
    trackerServers({ clock, signal: interruption.signal } as unknown as Context, server, options(members));

  it('are aborted at the deadline, except the one for what is read after it', async () => {
    await clock.pass(10_000);
    const servers = await opened();
    const { current, late } = servers;
    expect([current.server, late.server]).toEqual([{ signal: current.signal }, { signal: late.signal }]);
    await clock.pass(49_999);
    expect([current.signal.aborted, servers.isPastDeadline]).toEqual([false, false]);
    await clock.pass(1);
    expect([current.signal.aborted, late.signal.aborted]).toEqual([true, false]);
    expect(current.signal.reason).toMatchObject({ kind: 'timeout', message: 'the deadline has passed' });
    for (const { isOver } of [current, late])
      expect([isOver(current.signal.reason), isOver(new AppError('timeout', 'another'))]).toEqual([true, false]);
    expect(servers.current).toBe(current);
    servers.passDeadline();
    expect([servers.isPastDeadline, servers.current === late]).toEqual([true, true]);
  });

  it('are both aborted by a stop, which leaves no timer', async () => {
    const servers = await opened();
    expect(clock.sleeping).toBe(1);
    servers.stop();
    expect([servers.current.signal.aborted, servers.late.signal.aborted]).toEqual([true, true]);
    await clock.pass(0);
    expect(clock.sleeping).toBe(0);
  });

  it('are both aborted by the signal of the command', async () => {
    const { current, late } = await opened();
    interruption.abort();
    expect([current.signal.aborted, late.signal.aborted]).toEqual([true, true]);
  });

  it('are both aborted by the signal of the tracking', async () => {
    const other = new AbortController();
    const { current, late } = await opened({ signal: other.signal });
    other.abort();
    expect([current.signal.aborted, late.signal.aborted]).toEqual([true, true]);
  });
});

describe('a follower of a tracker', () => {
  const { signal } = new AbortController();
  let starts: unknown[];
  let returned: number;

  function following(members: Partial<TrackOptions>, after: ConversationEvent | null, fails = false): Following {
    starts = [];
    returned = 0;
    const next = () => (fails ? Promise.reject(new Error('no connection')) : Promise.resolve({ done: true }));
    const end = () => {
      returned += 1;
      return Promise.reject(new Error('no connection'));
    };
    const follow = (id: string, from: FollowOptions) => {
      starts.push([id, from]);
      return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
    };
    const server = { conversations: { follow } } as unknown as Server;
    return new Following({ server, signal, isOver: () => false }, 'c', options(members), after);
  }

  it.each<[string, Partial<TrackOptions>, object]>([
    ['at the beginning', {}, {}],
    ['at a time', { since: '2026-01-01T00:00:00Z' }, { since: '2026-01-01T00:00:00Z' }],
    ['after an event', { afterEventId: 'e1' }, { afterEventId: 'e1' }],
  ])('starts %s', (_, members, start) => {
    following(members, null);
    expect(starts).toStrictEqual([['c', { ...start, signal }]]);
  });

  it('starts after the event that was delivered last', () => {
    const last = { id: 'e2', timestamp: '2026-01-02T00:00:00Z' } as ConversationEvent;
    following({ since: '2026-01-01T00:00:00Z', afterEventId: 'e1' }, last);
    expect(starts).toStrictEqual([['c', { since: last.timestamp, afterEventId: 'e2', signal }]]);
  });

  it('requests the next item when the one before was taken', async () => {
    const follower = following({}, null);
    const first = follower.next();
    expect(follower.next()).toBe(first);
    follower.taken();
    expect(follower.next()).not.toBe(first);
    await follower.end();
  });

  it('ends although there is nothing to end', async () => {
    const items = { next: () => Promise.resolve({ done: true }) };
    const follow = () => ({ [Symbol.asyncIterator]: () => items });
    const server = { conversations: { follow } } as unknown as Server;
    const follower = new Following({ server, signal, isOver: () => false }, 'c', options({}), null);
    expect(await follower.end()).toBeUndefined();
  });

  it('ends although the request in flight and the end of the follower fail', async () => {
    await following({}, null, true).end();
    expect(returned).toBe(1);
  });
});
