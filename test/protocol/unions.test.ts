import type * as v from 'valibot';
import { expect, it } from 'vitest';
import { check, list, record, text } from '../../src/protocol/detail.ts';
import { anyOf, kindOf } from '../../src/protocol/unions.ts';

const messages = (schema: v.GenericSchema, input: unknown): string[] => {
  const checked = check(schema, input, 'body');
  return checked.ok ? [] : checked.detail.map(({ msg }) => msg);
};

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
  const schema = anyOf({ A: record({ a: text() }), B: record({ b: text() }) });
  expect(check(schema, { b: 'x', c: 1 }, 'body')).toEqual({ ok: true, value: { b: 'x' } });
});

it('a refused kind is repeated in at most 50 characters, and an object as no text', () => {
  expect(messages(kindOf('Family', ['A']), { kind: 'x'.repeat(60) })[0]).toContain(`'${'x'.repeat(50)}'`);
  expect(messages(kindOf('Family', ['A']), { kind: { a: 1 } })[0]).toContain("Unknown kind '' for Family");
});

it('a value that matches no option is reported with the mismatch of each', () => {
  const schema = anyOf({ A: record({ a: text() }), B: record({ b: list(text()) }) });
  expect(check(schema, { a: 1, b: ['x', 2] }, 'body')).toMatchObject({
    detail: [
      { type: 'string_type', loc: ['body', 'A', 'a'] },
      { type: 'string_type', loc: ['body', 'B', 'b', 1] },
    ],
  });
});
