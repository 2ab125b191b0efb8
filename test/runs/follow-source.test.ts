import { describe, expect, it } from 'vitest';
import { createFollowWindow } from '../../src/runs/follow-source.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();

describe('the window of a follower', () => {
  it('recognises an event that was seen before, and has the newest one', () => {
    const window = createFollowWindow(null);
    expect(window.lastId).toBeNull();
    expect([window.isNew('a', null), window.isNew('b', null), window.isNew('a', null)]).toEqual([true, true, false]);
    expect(window.lastId).toBe('b');
  });

  it('recognises every id, however many came since', () => {
    const window = createFollowWindow(null);
    for (let index = 0; index < 50_000; index++) window.isNew(`${index}`, null);
    expect([window.isNew('0', null), window.has('1'), window.has('50000')]).toEqual([false, true, false]);
  });

  it('starts 2 s before the newest event, or by the given time before it', () => {
    const window = createFollowWindow(null);
    expect(window.sinceMs()).toBeNull();
    window.isNew('without a time', null);
    expect(window.sinceMs()).toBeNull();
    window.isNew('a', at(100));
    window.isNew('b', at(200));
    window.isNew('older', at(150));
    window.isNew('without a time either', null);
    expect([window.sinceMs(), window.sinceMs(500)]).toEqual([198_000, 199_500]);
  });

  it('does not start before the start of following, nor before the epoch', () => {
    const window = createFollowWindow(99_000);
    expect(window.sinceMs()).toBe(99_000);
    window.isNew('a', at(100));
    expect(window.sinceMs()).toBe(99_000);
    window.isNew('b', at(200));
    expect(window.sinceMs()).toBe(198_000);
    const early = createFollowWindow(null);
    early.isNew('a', at(1));
    expect(early.sinceMs()).toBe(0);
  });
});
