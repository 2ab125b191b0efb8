import { expect, it } from 'vitest';
import { firstLine, isRecord, textOf } from '../../src/domain/event-parts.ts';

it.each([
  ['', ''],
  ['  one  ', 'one'],
  ['\n one \r\ntwo', 'one …'],
  ['x'.repeat(400), 'x'.repeat(400)],
  ['x'.repeat(401), `${'x'.repeat(400)}…`],
])('firstLine returns the first line that is not empty, at most 400 characters of it', (text, line) => {
  expect(firstLine(text)).toBe(line);
});

it('textOf returns the empty text for a value of another type', () => {
  expect([textOf('a'), textOf(1), textOf(null), textOf(['a'])]).toEqual(['a', '', '', '']);
});

it('isRecord returns true only for objects other than lists', () => {
  expect([isRecord({}), isRecord([]), isRecord(null), isRecord('a')]).toEqual([true, false, false, false]);
});
