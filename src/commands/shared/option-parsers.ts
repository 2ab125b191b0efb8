import { parseDuration } from '../../base/text/time.ts';

/** Commander turns it into a usage error that names the option. */
export function invalidValue(message: string): Error {
  return Object.assign(new Error(message), { code: 'commander.invalidArgument', exitCode: 2 });
}

/** For a repeatable option: a variadic one of commander swallows the positional after it. */
export function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

export function collectList(value: string, previous: string[] | undefined): string[] {
  const parts = value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) throw invalidValue('It must not be empty.');
  return [...(previous ?? []), ...parts];
}

/** Milliseconds. */
export function duration(value: string): number {
  const ms = parseDuration(value);
  if (ms === null)
    throw invalidValue('It must be a duration such as 500ms, 30s, 5m, 2h, 7d or 2w.');
  return ms;
}

export function positiveInteger(value: string): number {
  return integerFrom(1, value);
}

export function wholeNumber(value: string): number {
  return integerFrom(0, value);
}

function integerFrom(least: 0 | 1, value: string): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least) {
    throw invalidValue(`It must be ${least === 1 ? 'a positive' : 'a non-negative'} integer.`);
  }
  return number;
}

/** Members of the readers below: the completion offers these words. */
export interface WithWords {
  words: readonly string[];
}

export function oneOf<T extends string>(
  ...words: readonly T[]
): ((value: string) => T) & WithWords {
  return Object.assign((value: string): T => oneOfThese(value, words), { words });
}

/** Separated by commas, in any case. `also`: what is taken besides. */
export function someOf<T extends string>(
  words: readonly T[],
  also?: RegExp,
): ((value: string, previous: T[] | undefined) => T[]) & WithWords {
  const read = (value: string, previous: T[] | undefined): T[] => [
    ...(previous ?? []),
    ...collectList(value.toLowerCase(), undefined).map((word) =>
      also?.test(word) ? (word as T) : oneOfThese(word, words),
    ),
  ];
  return Object.assign(read, { words });
}

function oneOfThese<T extends string>(value: string, words: readonly T[]): T {
  const found = words.find((word) => word === value);
  if (found === undefined) throw invalidValue(`It must be one of ${words.join(', ')}.`);
  return found;
}
