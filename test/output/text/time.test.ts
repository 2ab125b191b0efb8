import { expect, test, it } from 'vitest';
import {
  formatDuration,
  normalizeTime,
  parseDuration,
  parseSince,
  parseTime,
  relativeTime,
  roundDuration,
} from '../../../src/base/text/time.ts';

test.each([
  ['2026-03-01T10:00:00.123456', '2026-03-01T10:00:00.123456Z'],
  ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z'],
  ['2026-03-01 10:00:00', '2026-03-01T10:00:00Z'],
  ['2026-03-01T10:00:00.5+00:00', '2026-03-01T10:00:00.5Z'],
  ['2026-03-01T00:30:00.000001+02:00', '2026-02-28T22:30:00.000001Z'],
  ['2026-12-31T23:30:00-0130', '2027-01-01T01:00:00Z'],
  ['2026-03-01T10:00', '2026-03-01T10:00:00Z'],
  ['2026-03-01', '2026-03-01T00:00:00Z'],
])('%s is %s', (given, normal) => {
  expect(normalizeTime(given)).toBe(normal);
});

test.each([
  '',
  'yesterday',
  '2026-13-01',
  '2026-02-30T00:00:00Z',
  '2026-03-01T25:00:00Z',
  '12',
  null,
  undefined,
])('%s is no time', (given) => {
  expect(normalizeTime(given)).toBeNull();
  expect(parseTime(given)).toBeNull();
});

const NOW = Date.parse('2026-03-01T12:00:00Z');

test.each([
  ['2026-03-01T11:59:59.5Z', 'now'],
  ['2026-03-01T11:59:01Z', '59s ago'],
  ['2026-03-01T11:57:00Z', '3m ago'],
  ['2026-03-01T10:00:01Z', '1h ago'],
  ['2026-02-27T12:00:00Z', '2d ago'],
  ['2026-01-30T12:00:00Z', '2026-01-30'],
  ['2026-03-01T14:00:00Z', 'in 2h'],
  ['2027-03-01T14:00:00Z', '2027-03-01'],
])('%s reads as %s', (time, words) => {
  expect(relativeTime(parseTime(time) ?? Number.NaN, NOW)).toBe(words);
});

test('--since takes a duration back from now or a time, and nothing else', () => {
  expect(parseSince('90m', NOW)).toBe('2026-03-01T10:30:00.000Z');
  expect(parseSince('2026-02-01T00:00:00.000001', NOW)).toBe('2026-02-01T00:00:00.000001Z');
  expect(parseSince('0195', NOW)).toBeNull();
  expect(parseSince('99999999999999w', NOW)).toBeNull();
});

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

it.each([
  [400, '0s'],
  [78_900, '1m 18s'],
  [2 * 3_600_000, '2h 0m'],
  [97 * 3_600_000, '4d 1h'],
])('a duration of %i ms is %s', (ms, text) => {
  expect(roundDuration(ms)).toBe(text);
});
