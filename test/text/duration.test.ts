import { expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/text/duration.ts';

it.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['1.5m', 90_000],
  ['1.25h', 4_500_000],
  [' 2h ', 7_200_000],
  ['7d', 604_800_000],
  ['2w', 1_209_600_000],
  ['0s', 0],
])('parseDuration reads %j as %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(['', '30', '-1s', '1,5s', '1 s', '1y', '1e3s', 's', '5mins', 'x5m', '1.s'])(
  'parseDuration returns null for %j',
  (text) => {
    expect(parseDuration(text)).toBeNull();
  },
);

it.each([
  [0, '0ms'],
  [500, '500ms'],
  [90_000, '90s'],
  [120_000, '2m'],
  [86_400_000, '1d'],
  [604_800_000, '1w'],
])('formatDuration writes %i ms in its largest exact unit as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
  expect(parseDuration(text)).toBe(ms);
});
