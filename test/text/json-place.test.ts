import { describe, expect, it } from 'vitest';
import { placeAt, placeInJson } from '../../src/text/json-place.ts';

function messageOf(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('placeInJson', () => {
  it('counts lines and columns from 1', () => {
    const text = '{\n  "a": 1,\n  b\n}';
    expect(placeInJson(text, messageOf(text))).toBe('line 3, column 3');
  });

  it('is null where the message has no position', () => {
    expect(placeInJson('[', 'Unexpected end of JSON input')).toBeNull();
  });
});

it('placeAt is the end of a text at its length', () => {
  expect(placeAt('ab\ncd', 5)).toBe('line 2, column 3');
});
