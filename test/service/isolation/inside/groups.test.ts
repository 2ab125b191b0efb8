import { describe, expect, it } from 'vitest';
import { inGroups } from '../../../../src/service/isolation/inside/groups.ts';

describe('requests answered in groups', () => {
  it('a single request is answered at once, later ones meanwhile together', async () => {
    const groups: (readonly string[])[] = [];
    const held: ((answer: string) => void)[] = [];
    const ask = inGroups((key: string, items: readonly string[]) => {
      groups.push([key, ...items]);
      return new Promise<string>((resolve) => held.push(resolve));
    });
    const first = ask('a', '1');
    await Promise.resolve();
    const later = [ask('a', '2'), ask('a', '3')];
    const other = ask('b', '4');
    await Promise.resolve();
    expect(groups).toEqual([
      ['a', '1'],
      ['b', '4'],
    ]);
    held[0]?.('one');
    held[1]?.('four');
    expect([await first, await other]).toEqual(['one', 'four']);
    expect(groups.at(-1)).toEqual(['a', '2', '3']);
    held[2]?.('both');
    expect(await Promise.all(later)).toEqual(['both', 'both']);
  });

  it('a group that fails does not fail the next', async () => {
    const ask = inGroups((_key: string, items: readonly number[]) =>
      items.includes(1) ? Promise.reject(new Error('no')) : Promise.resolve(items.length),
    );
    const failing = ask('a', 1);
    const next = ask('a', 2);
    await expect(failing).rejects.toThrow('no');
    // Both questions came before the first group started.
    await expect(next).rejects.toThrow('no');
    expect(await ask('a', 3)).toBe(1);
  });
});
