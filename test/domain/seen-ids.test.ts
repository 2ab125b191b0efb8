import { expect, it } from 'vitest';
import { SeenIds } from '../../src/domain/seen-ids.ts';

it('a set of 100,000 ids has each of them, and no other', () => {
  const seen = new SeenIds();
  const id = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  for (let index = 0; index < 100_000; index++) {
    seen.add(id(index)).add(id(index));
    if (!seen.has(id(index)) || seen.size !== index + 1) expect.fail(id(index));
  }
  for (let index = 0; index < 100_000; index++) {
    if (!seen.has(id(index)) || seen.has(id(100_000 + index)) || seen.has(String(index))) expect.fail(id(index));
  }
});

it('a set of ids distinguishes texts that have the same characters', () => {
  const seen = new SeenIds();
  expect(['', 'ab', 'ba', 'aab', 'ab'].map((id) => seen.add(id).size)).toEqual([1, 2, 3, 4, 4]);
  expect(['', 'abb', 'é'].map((id) => seen.has(id))).toEqual([true, false, false]);
});
