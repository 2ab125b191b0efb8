import { describe, expect, it } from 'vitest';
import { jsonDocument } from '../../src/output/json.ts';
import { jsonList } from '../../src/output/json-list.ts';

const written = (records: Record<string, unknown>[], members: Record<string, unknown>): string =>
  Buffer.from(jsonList(records, members)).toString('utf8');

describe('a JSON list that is encoded record by record', () => {
  const deep = { id: 'a', payload: { lines: ['one\ntwo', ''], none: {}, empty: [], at: [[1, { x: null }]] } };
  it.each<[string, Record<string, unknown>[], Record<string, unknown>]>([
    ['no record', [], { has_more: false }],
    ['one record', [deep], { has_more: false }],
    ['several records', [deep, {}, { text: 'é 你好 \u009b\u202e\u007f "quoted" \\n' }, deep], { has_more: true }],
    ['several members', [deep], { matched: 3, failed: 1, note: 'x\ny' }],
    ['no members', [deep], {}],
    ['nothing at all', [], {}],
  ])('has the same bytes as one document: %s', (_, records, members) => {
    expect(written(records, members)).toBe(jsonDocument({ items: records, ...members }));
  });
});
