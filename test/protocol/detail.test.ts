import * as v from 'valibot';
import { expect, it } from 'vitest';
import {
  anyOf,
  check,
  closedRecord,
  dictionary,
  filledList,
  integer,
  integerFrom,
  isTooDeep,
  kindOf,
  list,
  literal,
  mapOf,
  maybe,
  number,
  oneOf,
  page,
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

it.each<[string, v.GenericSchema, unknown, unknown]>([
  ['a whole number', integer, 7, 7],
  ['a text that is one', integer, ' +7 ', 7],
  ['a number as a text', number, '1.5', 1.5],
  ['a word for true', truth, 'YES', true],
  ['0 for false', truth, 0, false],
  ['a UUID with dashes', uuid, DASHED.toUpperCase(), HEX],
  ['a UUID without dashes', uuid, HEX, HEX],
  ['a time without a zone as UTC', time, '2026-01-31T10:00:00.5', '2026-01-31T10:00:00.500000Z'],
  ['a time with a zone in UTC', time, '2026-01-31T10:00:00+02:00', '2026-01-31T08:00:00.000000Z'],
  [
    'a plus sign that arrived as a space',
    time,
    '2026-01-31T10:00:00 02:00',
    '2026-01-31T08:00:00.000000Z',
  ],
  ['a day', time, '2026-01-31', '2026-01-31T00:00:00.000000Z'],
  [
    'nanoseconds cut to microseconds',
    time,
    '2026-01-31T10:00:00.123456789Z',
    '2026-01-31T10:00:00.123456Z',
  ],
  ['null for a member that may be null', maybe(text), null, null],
  ['a map', mapOf(text), { a: 'x' }, { a: 'x' }],
])('%s is accepted', (_, schema, input, value) => {
  expect(read(schema, input)).toEqual(value);
});

it.each<[string, v.GenericSchema, unknown, string]>([
  ['a fraction', integer, 1.5, 'int_from_float'],
  ['an unsafe number', integer, 2 ** 53, 'int_from_float'],
  ['an unsafe number as a text', integer, '9007199254740993', 'int_parsing'],
  ['a hexadecimal text', integer, '0x10', 'int_parsing'],
  ['true for a number', integer, true, 'int_type'],
  ['an object for a number', integer, { toString: 1 }, 'int_type'],
  ['a number below its bound', integerFrom(1), 0, 'greater_than_equal'],
  ['a number above its bound', integerFrom(1, 5), 6, 'less_than_equal'],
  ['a limit of 0', page().limit, '0', 'greater_than'],
  ['a limit above the largest', page().limit, '101', 'less_than_equal'],
  ['an empty text for a number', number, '', 'float_parsing'],
  ['infinity', number, 'Infinity', 'float_parsing'],
  ['2 for a truth', truth, 2, 'bool_parsing'],
  ['null for a truth', truth, null, 'bool_type'],
  ['a UUID of 31 digits', uuid, HEX.slice(1), 'uuid_parsing'],
  ['a day that does not exist', time, '2026-13-01', 'datetime_from_date_parsing'],
  ['a time with more behind it', time, '2026-01-31T10:00:00Z; DROP', 'datetime_from_date_parsing'],
  ['a list for a map', mapOf(text), [], 'dict_type'],
  [
    'a list within a list of objects',
    list(record({ a: maybe(text) })),
    [[]],
    'model_attributes_type',
  ],
  ['a list for a closed record', closedRecord({}), [], 'model_attributes_type'],
  ['a list for a dictionary', dictionary, [], 'dict_type'],
  ['an object for a list', list(text), {}, 'list_type'],
  ['an empty list', filledList(text), [], 'too_short'],
  ['a word that is no option', oneOf(['a', 'b']), 'c', 'enum'],
  ['a word that is no literal', literal(['a']), 'c', 'literal_error'],
  ['a text that is too short', textOf(1, 3), '', 'string_too_short'],
  ['a text that is too long', textOf(1, 3), 'abcd', 'string_too_long'],
  ['a text of another form', textLike(/^a$/), 'b', 'string_pattern_mismatch'],
  ['a text against its rule', textThat((value) => value !== 'x', 'not this'), 'x', 'value_error'],
])('%s is refused with the error type of genuine servers', (_, schema, input, type) => {
  expect(read(schema, input)).toEqual([type]);
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

const schema = record({ title: text, api_key: v.optional(text), size: v.optional(integer) });

it('check returns the value that matches its schema', () => {
  expect(check(schema, { title: 'a', size: '3' }, 'body')).toEqual({
    ok: true,
    value: { title: 'a', size: 3 },
  });
});

it('check refuses a list where an object is expected', () => {
  expect(check(schema, [], 'body')).toMatchObject({
    ok: false,
    detail: [{ type: 'model_attributes_type', loc: ['body'] }],
  });
});

it('check reports a missing member', () => {
  expect(check(schema, { size: 1 }, 'query')).toMatchObject({
    detail: [{ type: 'missing', loc: ['query', 'title'], msg: 'Field required' }],
  });
});

it('check reports an extra member of a closed record', () => {
  expect(check(closedRecord({ title: text }), { title: 'a', size: 1 }, 'body')).toMatchObject({
    detail: [{ type: 'extra_forbidden', loc: ['body', 'size'] }],
  });
});

it('check reports what was expected, and never what was received', () => {
  const checked = check(
    record({ color: oneOf(['red', 'blue']), api_key: text }),
    { color: 'hush-1', api_key: 7 },
    'body',
  );
  expect(checked).toEqual({
    ok: false,
    detail: [
      {
        type: 'enum',
        loc: ['body', 'color'],
        msg: 'Invalid type: Expected ("red" | "blue")',
        ctx: { expected: '("red" | "blue")' },
      },
      { type: 'string_type', loc: ['body', 'api_key'], msg: 'Invalid type: Expected string' },
    ],
  });
});

it('isTooDeep accepts 200 levels and refuses one more', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 0;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };
  expect([isTooDeep(nested(200)), isTooDeep(nested(201))]).toEqual([false, true]);
});

it('an object of a known kind keeps all of its members', () => {
  const value = { kind: 'A', more: 1 };
  expect(check(kindOf('Family', ['A']), value, 'body')).toEqual({ ok: true, value });
});

it('an unknown kind, no kind and a list are refused with the error types of genuine servers', () => {
  const types = [{ kind: 'B' }, {}, []].map((input) => {
    const checked = check(kindOf('Family', ['A']), input, 'body');
    return checked.ok ? 'accepted' : checked.detail[0]?.type;
  });
  expect(types).toEqual(['value_error', 'value_error', 'model_attributes_type']);
});

it('a union is read by the first option that matches', () => {
  const schema = anyOf({ A: record({ a: text }), B: record({ b: text }) });
  expect(check(schema, { b: 'x', c: 1 }, 'body')).toEqual({ ok: true, value: { b: 'x' } });
});

it('a value that matches no option is reported with the mismatch of each', () => {
  const schema = anyOf({ A: record({ a: text }), B: record({ b: list(text) }) });
  expect(check(schema, { a: 1, b: ['x', 2] }, 'body')).toMatchObject({
    detail: [
      { type: 'string_type', loc: ['body', 'A', 'a'] },
      { type: 'string_type', loc: ['body', 'B', 'b', 1] },
    ],
  });
});

it.each<[string, v.GenericSchema, unknown, Record<string, unknown> | undefined]>([
  ['a limit of 0', page().limit, '0', { gt: 0 }],
  ['a limit above the largest', page().limit, '101', { le: 100 }],
  ['a number below its bound', integerFrom(1), 0, { ge: 1 }],
  ['a text too long', textOf(1, 3), 'long', { max_length: 3 }],
  ['a text of another form', textLike(/^[a-z]+$/), '1', { pattern: '^[a-z]+$' }],
  [
    'a word that is none of a list',
    oneOf(['red', 'blue']),
    'green',
    { expected: '("red" | "blue")' },
  ],
  ['a rule that a text breaks', textThat(() => false, 'never'), 'x', { error: {} }],
  ['what is not text', text, 1, undefined],
])('the refusal of %s has the bound in ctx, as genuine servers do', (_, schema, input, ctx) => {
  const checked = check(schema, input, 'query');
  expect(checked.ok ? [] : checked.detail.map((each) => each.ctx)).toEqual([ctx]);
});
