import { describe, expect, it } from 'vitest';
import { diffNames } from '../../../../src/commands/conv/batch/diff-files.ts';

const nameOf = (key: string) => diffNames([key]).get(key);

describe('the diff file of a key', () => {
  it.each([
    ['fix-1', 'fix-1.diff'],
    ['owner/name', 'owner%2Fname.diff'],
    ['..', '%2E..diff'],
    ['.hidden', '%2Ehidden.diff'],
    ['-rf', '%2Drf.diff'],
    ['a\\b:c', 'a%5Cb%3Ac.diff'],
    ['100%', '100%25.diff'],
    ['é', '%C3%A9.diff'],
    ['CON', '%43ON.diff'],
  ])('%s is %s', (key, name) => {
    expect(nameOf(key)).toBe(name);
  });

  it('differs for keys that differ in case alone', () => {
    const names = [...diffNames(['Fix', 'fix']).values()].map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(2);
  });

  it('is short for a long key, and differs for two that begin alike', () => {
    const names = [...diffNames([`${'x'.repeat(190)}1`, `${'x'.repeat(190)}2`]).values()];
    expect(new Set(names).size).toBe(2);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThan(200);
  });
});
