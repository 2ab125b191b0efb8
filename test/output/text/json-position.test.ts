import { describe, expect, it } from 'vitest';
import { positionAt, positionInJson } from '../../../src/base/text/json-position.ts';

function messageOf(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('positionInJson', () => {
  it('counts lines and columns from 1', () => {
    const text = '{\n  "a": 1,\n  b\n}';
    expect(positionInJson(text, messageOf(text))).toBe('line 3, column 3');
  });

  it('is null where the message has no position', () => {
    expect(positionInJson('[', 'Unexpected end of JSON input')).toBeNull();
  });
});

it('positionAt is the end of a text at its length', () => {
  expect(positionAt('ab\ncd', 5)).toBe('line 2, column 3');
});
