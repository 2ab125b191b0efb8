import { describe, expect, it } from 'vitest';
import { LineReader } from '../../../../src/service/isolation/inside/lines.ts';

describe('lines', () => {
  it('are assembled from any chunks', () => {
    const lines: string[] = [];
    const reader = new LineReader((line) => lines.push(line));
    const bytes = Buffer.from('one\n\ntwö\nthree');
    for (const byte of bytes) reader.push(Buffer.from([byte]));
    expect(lines).toEqual(['one', 'twö']);
    reader.push(Buffer.from('\nfour\n'));
    expect(lines).toEqual(['one', 'twö', 'three', 'four']);
  });

  it('that are too long are refused before they use much memory', () => {
    const reader = new LineReader(() => undefined, 10);
    expect(() => {
      reader.push(Buffer.from('x'.repeat(11)));
    }).toThrow('too long');
  });
});
