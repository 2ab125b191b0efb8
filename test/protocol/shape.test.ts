import { expect, it } from 'vitest';
import {
  asRecord,
  isShapeError,
  optionalNumber,
  optionalRecord,
  optionalText,
  readBatch,
  readPage,
  requiredText,
  textList,
} from '../../src/protocol/shape.ts';

const record = { text: 'a', empty: '', number: 1, none: null, list: ['a', 'b'], object: { a: 1 } };
const name = (item: unknown, place: string): string =>
  requiredText(asRecord(item, place), 'id', place);

it('optional members are null when they are missing or null', () => {
  expect(optionalText(record, 'none', 'r')).toBeNull();
  expect(optionalNumber(record, 'missing', 'r')).toBeNull();
  expect(optionalRecord(record, 'none', 'r')).toBeNull();
  expect(textList(record, 'missing', 'r')).toEqual([]);
});

it('members of the right type are returned unchanged', () => {
  expect(requiredText(record, 'text', 'r')).toBe('a');
  expect(optionalText(record, 'empty', 'r')).toBe('');
  expect(optionalNumber(record, 'number', 'r')).toBe(1);
  expect(optionalRecord(record, 'object', 'r')).toEqual({ a: 1 });
  expect(textList(record, 'list', 'r')).toEqual(['a', 'b']);
});

it.each<[string, () => unknown]>([
  ['r.empty is not a text', () => requiredText(record, 'empty', 'r')],
  ['r.number is not a text or null', () => optionalText(record, 'number', 'r')],
  ['r.text is not a number or null', () => optionalNumber(record, 'text', 'r')],
  ['r.list is not an object', () => optionalRecord(record, 'list', 'r')],
  ['r.object is not a list', () => textList(record, 'object', 'r')],
  ['page.items is not a list', () => readPage({}, 'page', name)],
  ['page.items[1].id is not a text', () => readPage({ items: [{ id: 'a' }, {}] }, 'page', name)],
  ['batch[0] is not an object', () => readBatch([7], 'batch', name)],
])('a wrong shape throws a ShapeError that names the place: %s', (message, read) => {
  let thrown: unknown;
  try {
    read();
  } catch (error) {
    thrown = error;
  }
  expect(isShapeError(thrown)).toBe(true);
  expect((thrown as Error).message).toBe(message);
});

it('readPage takes the items of V1 and the results of V0', () => {
  const items = [{ id: 'a' }];
  expect(readPage({ items, next_page_id: 'n' }, 'page', name)).toEqual({ items: ['a'], next: 'n' });
  expect(readPage({ results: items }, 'page', name)).toEqual({ items: ['a'], next: null });
});

it('readBatch keeps the order and null for an unknown id', () => {
  expect(readBatch([{ id: 'a' }, null, { id: 'b' }], 'batch', name)).toEqual(['a', null, 'b']);
});
