import { describe, expect, it } from 'vitest';
import { BoundedText } from '../../../../src/service/isolation/inside/output.ts';

describe('the output of a command', () => {
  it('is complete when it is short, in any chunks', () => {
    const text = new BoundedText(4, 4);
    const live = ['ab', 'cdef', 'gh'].map((piece) => text.push(Buffer.from(piece))).join('');
    expect(text.end()).toBe('');
    expect([live, text.toString()]).toEqual(['abcd', 'abcdefgh']);
  });

  it.each([1, 3, 1000])('keeps its beginning and end when it is long, in chunks of %i', (size) => {
    const all = Array.from({ length: 1000 }, (_, index) => String(index % 10)).join('');
    const text = new BoundedText(10, 5);
    for (let at = 0; at < all.length; at += size) text.push(Buffer.from(all.slice(at, at + size)));
    text.end();
    expect(text.toString()).toBe('0123456789\n[... 985 characters of output left out ...]\n56789');
  });

  it('keeps a character that comes in two chunks', () => {
    const text = new BoundedText(10, 10);
    const [first, second] = [Buffer.from('ü').subarray(0, 1), Buffer.from('ü').subarray(1)];
    expect([text.push(first), text.push(second), text.toString()]).toEqual(['', 'ü', 'ü']);
  });
});
