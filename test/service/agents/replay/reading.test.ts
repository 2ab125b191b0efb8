import { expect, it } from 'vitest';
import {
  contentText,
  isRecord,
  optionalNumber,
  optionalRange,
  optionalText,
  recordMember,
  ReplayError,
  text,
} from '../../../../src/service/agents/replay/reading.ts';

const event = JSON.parse(
  '{"name":"a","none":null,"size":1e999,"below":-1,"range":[1,-1],"list":["a"],"inner":{"b":1},"half":[1,1.5]}',
) as Record<string, unknown>;

it('members are returned as they are, and optional ones that are missing or null as undefined', () => {
  expect(text(event, 'name', 'event 1')).toBe('a');
  expect(recordMember(event, 'inner', 'event 1')).toEqual({ b: 1 });
  expect(optionalRange(event, 'range', 'event 1')).toEqual([1, -1]);
  for (const read of [optionalText, optionalNumber, optionalRange]) {
    expect([read(event, 'none', ''), read(event, 'missing', '')]).toEqual([undefined, undefined]);
  }
});

it.each<[string, () => unknown]>([
  ['event 1: "missing" must be a string and is missing', () => text(event, 'missing', 'event 1')],
  ['event 1: "none" must be a string', () => text(event, 'none', 'event 1')],
  ['event 1: "constructor" must be a string', () => text(event, 'constructor', 'event 1')],
  ['event 1: "size" must be a number that is not negative', () => optionalNumber(event, 'size', 'event 1')],
  ['event 1: "below" must be a number that is not negative', () => optionalNumber(event, 'below', 'event 1')],
  ['event 1: "half" must hold two whole numbers', () => optionalRange(event, 'half', 'event 1')],
  ['event 1: "list" must hold two whole numbers', () => optionalRange(event, 'list', 'event 1')],
  ['event 1: "list" must be an object', () => recordMember(event, 'list', 'event 1')],
])('a wrong member is refused with its position: %s', (message, read) => {
  expect(read).toThrow(ReplayError);
  expect(read).toThrow(message);
});

it('the text of a content is that of its text parts', () => {
  expect(contentText([{ type: 'text', text: 'a' }, { type: 'image' }, null, 7, { text: 'b' }])).toBe('a\nb');
  expect([contentText('plain'), contentText({ text: 'a' }), contentText(undefined)]).toEqual(['plain', '', '']);
});

it('a list and null are no records', () => {
  expect([isRecord({}), isRecord([]), isRecord(null), isRecord('a')]).toEqual([true, false, false, false]);
});
