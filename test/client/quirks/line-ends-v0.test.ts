import { describe, expect, it } from 'vitest';
import { withLineEnds } from '../../../src/client/shared/quirks/line-ends-v0.ts';

describe('the line ends of both sides of a file', () => {
  it('get the end of the last line that the server cut off, as the other lines have it', () => {
    expect(withLineEnds({ original: 'a\nb', modified: 'a' })).toEqual({
      sides: { original: 'a\nb\n', modified: 'a\n' },
      assumed: false,
    });
    expect(withLineEnds({ original: 'a\r\nb', modified: 'a\r\nB\r\nc' }).sides).toEqual({
      original: 'a\r\nb\r\n',
      modified: 'a\r\nB\r\nc\r\n',
    });
  });

  it('are those of before when the server made LF of CRLF', () => {
    expect(withLineEnds({ original: 'a\r\nb', modified: 'a\nB' })).toEqual({
      sides: { original: 'a\r\nb\r\n', modified: 'a\r\nB\r\n' },
      assumed: true,
    });
  });

  it('stay as they are where the original mixes them, and for an empty or a missing side', () => {
    expect(withLineEnds({ original: 'a\r\nb\n', modified: 'a\nB\n' }).assumed).toBe(false);
    expect(withLineEnds({ original: null, modified: '' })).toEqual({
      sides: { original: null, modified: '' },
      assumed: false,
    });
  });
});
