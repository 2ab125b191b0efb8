import { expect, it } from 'vitest';
import {
  collect,
  collectList,
  duration,
  oneOf,
  positiveInteger,
  someOf,
  wholeNumber,
} from '../../src/commands/shared/option-parsers.ts';

const USAGE = { code: 'commander.invalidArgument', exitCode: 2 };

it('collect keeps each value of a repeatable option, in order', () => {
  expect(collect('b', collect('a', undefined))).toEqual(['a', 'b']);
});

it('collectList splits values at commas and refuses an empty value', () => {
  expect(collectList(' b ,,c', ['a'])).toEqual(['a', 'b', 'c']);
  expect(() => collectList(' , ', undefined)).toThrow(expect.objectContaining(USAGE) as Error);
});

it.each(['0', '-1', '1.5', '1e3', '', ' 1', '9007199254740993'])(
  'positiveInteger refuses %j',
  (value) => {
    expect(() => positiveInteger(value)).toThrow(expect.objectContaining(USAGE) as Error);
  },
);

it('positiveInteger starts at 1, wholeNumber at 0', () => {
  expect([positiveInteger('1'), wholeNumber('0'), wholeNumber('12')]).toEqual([1, 0, 12]);
});

it('duration returns milliseconds and refuses a number without a unit', () => {
  expect(duration('2m')).toBe(120_000);
  expect(() => duration('2')).toThrow(expect.objectContaining(USAGE) as Error);
});

it('oneOf accepts its values only, and lists them for the completion', () => {
  const read = oneOf('v0', 'v1');
  expect([read('v1'), read.words]).toEqual(['v1', ['v0', 'v1']]);
  expect(() => read('V1')).toThrow('It must be one of v0, v1.');
});

it('someOf accepts values in any case, several at once, and its pattern', () => {
  const read = someOf(['idle', 'running'] as const, /^unknown\(/);
  expect(read('Idle,RUNNING', undefined)).toEqual(['idle', 'running']);
  expect(read('unknown(x)', ['idle'])).toEqual(['idle', 'unknown(x)']);
  expect(() => read('idle,busy', undefined)).toThrow('It must be one of idle, running.');
});
