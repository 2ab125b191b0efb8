import { expect, it } from 'vitest';
import { FrameOrder } from '../../src/runs/frame-order.ts';
import { sighting } from './support/scripted-source.ts';

const frame = (id: string, time: string | null) =>
  sighting(id, { timestamp: time === null ? null : `2026-11-21T10:00:${time}` });

function order(...frames: [id: string, time: string | null][]): string[] {
  const kept = new FrameOrder();
  for (const [id, time] of frames) kept.add([frame(id, time)], 0);
  return kept.receivedBy(0).map(({ id }) => id);
}

it('frames are ordered by their times, to the microsecond', () => {
  expect(order(['c', '02.000003'], ['a', '01'], ['b', '02.000002'])).toEqual(['a', 'b', 'c']);
});

it('frames are ordered by the time that a text means, in any time zone', () => {
  expect(order(['b', '02-01:00'], ['a', '03+01:00'])).toEqual(['a', 'b']);
  expect(order(['a', '03+01:00'], ['b', '02-01:00'])).toEqual(['a', 'b']);
});

it('a frame with an unreadable time stays where it came', () => {
  expect(order(['b', '02'], ['x', 'soon'], ['a', '01'])).toEqual(['b', 'x', 'a']);
});

it('frames of the same time, and those without one, stay where they came', () => {
  expect(order(['b', '01'], ['a', '01'], ['x', null], ['c', '00'])).toEqual(['b', 'a', 'x', 'c']);
});

it('frames are taken that were received by a time, with all that are older than these', () => {
  const kept = new FrameOrder();
  expect(kept.dueMs).toBe(Infinity);
  kept.add([frame('b', '02'), frame('c', '03')], 10);
  kept.add([frame('a', '01'), frame('d', '04')], 15);
  expect(kept.dueMs).toBe(10 + FrameOrder.keptMs);
  expect(kept.receivedBy(9)).toEqual([]);
  expect(kept.receivedBy(10).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  expect(kept.dueMs).toBe(15 + FrameOrder.keptMs);
  expect(kept.receivedBy(15).map(({ id }) => id)).toEqual(['d']);
  expect(kept.receivedBy(99)).toEqual([]);
});
