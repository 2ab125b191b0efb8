import * as v from 'valibot';
import { expect, it } from 'vitest';
import { check, isTooDeep } from '../../src/protocol/check.ts';
import { closedRecord, integer, oneOf, record, text } from '../../src/protocol/detail.ts';

const schema = record({ title: text(), api_key: v.optional(text()), size: v.optional(integer()) });

it('check returns the value that matches its schema', () => {
  expect(check(schema, { title: 'a', size: '3' }, 'body')).toEqual({ ok: true, value: { title: 'a', size: 3 } });
});

it('check refuses a list where an object is expected', () => {
  expect(check(schema, [], 'body')).toMatchObject({
    ok: false,
    detail: [{ type: 'model_attributes_type', loc: ['body'], input: [] }],
  });
});

it('check reports a missing member with the whole body, and without the input for a query', () => {
  expect(check(schema, { size: 1 }, 'body')).toMatchObject({
    detail: [{ type: 'missing', loc: ['body', 'title'], msg: 'Field required', input: { size: 1 } }],
  });
  expect(check(schema, { size: 1 }, 'query')).toMatchObject({ detail: [{ type: 'missing', input: null }] });
});

it('check reports an extra member of a closed record', () => {
  expect(check(closedRecord({ title: text() }), { title: 'a', size: 1 }, 'body')).toMatchObject({
    detail: [{ type: 'extra_forbidden', loc: ['body', 'size'], input: 1 }],
  });
});

it('check reports the message and the context of a leaf', () => {
  expect(check(record({ color: oneOf(['red', 'blue']) }), { color: 'green' }, 'body')).toMatchObject({
    detail: [{ type: 'enum', loc: ['body', 'color'], input: 'green', ctx: { expected: "'red' or 'blue'" } }],
  });
});

it.each<[string, unknown]>([
  ['a member with a secret name', { title: 1, api_key: 'hush-1' }],
  ['an unknown member', { title: 1, titel: 'hush-1' }],
  ['a member below an unknown member', { title: 1, titel: { title: 'hush-1' } }],
  ['a URL with credentials', { title: ['https://u:hush-1@host.example/'] }],
])('check masks the text of %s in the input that it reports', (_, value) => {
  const checked = check(record({ title: text(), api_key: v.optional(text()), other: text() }), value, 'body');
  expect(checked.ok).toBe(false);
  expect(JSON.stringify(checked)).toContain('**********');
  expect(JSON.stringify(checked)).not.toContain('hush-1');
});

it('check leaves out an object of more than 2000 characters', () => {
  const checked = check(schema, { size: 1, more: 'x'.repeat(2000) }, 'body');
  expect(checked.ok ? null : checked.detail[0]).not.toHaveProperty('input');
});

it('isTooDeep accepts 200 levels and refuses one more', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 0;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };
  expect([isTooDeep(nested(200)), isTooDeep(nested(201))]).toEqual([false, true]);
});
