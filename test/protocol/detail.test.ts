import type * as v from 'valibot';
import { expect, it } from 'vitest';
import {
  check,
  closedRecord,
  dictionary,
  filledList,
  integer,
  integerFrom,
  list,
  literal,
  mapOf,
  maybe,
  number,
  oneOf,
  pageLimit,
  record,
  text,
  textLike,
  textOf,
  textThat,
  time,
  toDashedId,
  toHexId,
  truth,
  uuid,
} from '../../src/protocol/detail.ts';

const HEX = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
const DASHED = '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9';

/** The value that a schema makes of an input, or the types of its refusals. */
function read(schema: v.GenericSchema, input: unknown): unknown {
  const checked = check(schema, input, 'body');
  return checked.ok ? checked.value : checked.detail.map(({ type }) => type);
}

const messages = (schema: v.GenericSchema, input: unknown): string[] => {
  const checked = check(schema, input, 'body');
  return checked.ok ? [] : checked.detail.map(({ msg }) => msg);
};

it.each<[string, v.GenericSchema, unknown, unknown]>([
  ['a whole number', integer(), 7, 7],
  ['a text that is one', integer(), ' +7 ', 7],
  ['a number as a text', number(), '1.5', 1.5],
  ['a word for true', truth(), 'YES', true],
  ['0 for false', truth(), 0, false],
  ['a UUID with dashes', uuid(), DASHED.toUpperCase(), HEX],
  ['a UUID without dashes', uuid(), HEX, HEX],
  ['a time without a zone as UTC', time(), '2026-01-31T10:00:00.5', '2026-01-31T10:00:00.500000Z'],
  ['a time with a zone in UTC', time(), '2026-01-31T10:00:00+02:00', '2026-01-31T08:00:00.000000Z'],
  ['a plus sign that arrived as a space', time(), '2026-01-31T10:00:00 02:00', '2026-01-31T08:00:00.000000Z'],
  ['a day', time(), '2026-01-31', '2026-01-31T00:00:00.000000Z'],
  ['nanoseconds cut to microseconds', time(), '2026-01-31T10:00:00.123456789Z', '2026-01-31T10:00:00.123456Z'],
  ['null for a member that may be null', maybe(text()), null, null],
  ['a map', mapOf(text()), { a: 'x' }, { a: 'x' }],
])('%s is accepted', (_, schema, input, value) => {
  expect(read(schema, input)).toEqual(value);
});

it.each<[string, v.GenericSchema, unknown, string]>([
  ['a fraction', integer(), 1.5, 'int_from_float'],
  ['an unsafe number', integer(), 2 ** 53, 'int_from_float'],
  ['an unsafe number as a text', integer(), '9007199254740993', 'int_parsing'],
  ['a hexadecimal text', integer(), '0x10', 'int_parsing'],
  ['true for a number', integer(), true, 'int_type'],
  ['a number below its bound', integerFrom(1), 0, 'greater_than_equal'],
  ['a number above its bound', integerFrom(1, 5), 6, 'less_than_equal'],
  ['a limit of 0', pageLimit(100), '0', 'greater_than'],
  ['a limit above the largest', pageLimit(100), '101', 'less_than_equal'],
  ['an empty text for a number', number(), '', 'float_parsing'],
  ['infinity', number(), 'Infinity', 'float_parsing'],
  ['2 for a truth', truth(), 2, 'bool_parsing'],
  ['null for a truth', truth(), null, 'bool_type'],
  ['a UUID of 31 digits', uuid(), HEX.slice(1), 'uuid_parsing'],
  ['a day that does not exist', time(), '2026-13-01', 'datetime_from_date_parsing'],
  ['a time with more behind it', time(), '2026-01-31T10:00:00Z; DROP', 'datetime_from_date_parsing'],
  ['a list for a map', mapOf(text()), [], 'dict_type'],
  ['a list within a list of objects', list(record({ a: maybe(text()) })), [[]], 'model_attributes_type'],
  ['a list for a closed record', closedRecord({}), [], 'model_attributes_type'],
  ['a list for a dictionary', dictionary(), [], 'dict_type'],
  ['an object for a list', list(text()), {}, 'list_type'],
  ['an empty list', filledList(text()), [], 'too_short'],
  ['a word that is no option', oneOf(['a', 'b']), 'c', 'enum'],
  ['a word that is no literal', literal(['a']), 'c', 'literal_error'],
  ['a text that is too short', textOf(1, 3), '', 'string_too_short'],
  ['a text that is too long', textOf(1, 3), 'abcd', 'string_too_long'],
  ['a text of another form', textLike(/^a$/), 'b', 'string_pattern_mismatch'],
  [
    'a text against its rule',
    textThat(
      (value) => value !== 'x',
      (value) => `not ${value}`,
    ),
    'x',
    'value_error',
  ],
])('%s is refused with the error type of genuine servers', (_, schema, input, type) => {
  expect(read(schema, input)).toEqual([type]);
});

it('a refused UUID is reported with its first wrong character, or its length', () => {
  expect(messages(uuid(), 'g')).toEqual(['Input should be a valid UUID, invalid character: found `g` at 0']);
  expect(messages(uuid(), '\u{1f600}')).toEqual([
    'Input should be a valid UUID, invalid character: found `\u{1f600}` at 0',
  ]);
  expect(messages(uuid(), 'abc')).toEqual([
    'Input should be a valid UUID, invalid length: expected length 32 for simple format, found 3',
  ]);
});

it('ids are converted between both forms', () => {
  expect([
    toHexId(DASHED.toUpperCase()),
    toHexId(HEX),
    toHexId(`${HEX}0`),
    toHexId('0a1b2c3d-4e5f60718293a4b5c6d7e8f9'),
  ]).toEqual([HEX, HEX, null, null]);
  expect(toDashedId(HEX)).toBe(DASHED);
});
