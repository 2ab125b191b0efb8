import { describe, expect, it } from 'vitest';
import { FollowWindow } from '../../src/runs/follow-source.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();

describe('the window of a follower', () => {
  it('recognises an event that was seen before, and has the newest one', () => {
    const window = new FollowWindow(null);
    expect(window.lastId).toBeNull();
    window.add('a', null);
    window.add('b', null);
    expect([window.has('a'), window.has('b'), window.has('c')]).toEqual([true, true, false]);
    expect(window.lastId).toBe('b');
  });

  it('starts 2 s before the newest event, or by the given time before it', () => {
    const window = new FollowWindow(null);
    expect(window.sinceMs()).toBeNull();
    window.add('without a time', null);
    expect(window.sinceMs()).toBeNull();
    window.add('a', at(100));
    window.add('b', at(200));
    window.add('older', at(150));
    window.add('without a time either', null);
    expect([window.sinceMs(), window.sinceMs(500)]).toEqual([198_000, 199_500]);
  });

  it('does not start before the start of following, nor before the epoch', () => {
    const window = new FollowWindow(99_000);
    expect(window.sinceMs()).toBe(99_000);
    window.add('a', at(100));
    expect(window.sinceMs()).toBe(99_000);
    window.add('b', at(200));
    expect(window.sinceMs()).toBe(198_000);
    const early = new FollowWindow(null);
    early.add('a', at(1));
    expect(early.sinceMs()).toBe(0);
  });
});
