import { expect, test } from 'vitest';
import { capture } from './capture.ts';

const PAGE = { has_more: false };

test('objects are readable in a table and JSON in tsv', async () => {
  const view = {
    noun: 'thing',
    id: () => 'x',
    fields: [{ name: 'it', get: (value: unknown) => value }],
    table: ['it'],
    tsv: ['it'],
  };
  const things = [
    { input: 3, output: null },
    [{ name: 'editor', url: 'http://h' }],
    { deep: { er: 1 } },
    ['a', 'b'],
    true,
    0,
    '',
  ];
  const table = capture({}, 80);
  await table.emitter.list(view, things, PAGE);
  expect(table.out()).toBe('IT\ninput: 3\nname: editor, url: http://h\n{"deep":{"er":1}}\na, b\nyes\n0\n\n');
  const tsv = capture({}, undefined);
  await tsv.emitter.list(view, things, PAGE);
  expect(tsv.out()).toBe(
    '{"input":3,"output":null}\n[{"name":"editor","url":"http://h"}]\n{"deep":{"er":1}}\na,b\ntrue\n0\n\n',
  );
});
