import { describe, expect, it } from 'vitest';
import type { Emitter, OutputFlags, OutputKind } from '../../src/output/emit.ts';
import { capture, TASKS, taskView, type Task } from './capture.ts';

const PAGE = { has_more: false };
const [first, hostile] = TASKS as [Task, Task];
const [A, B] = [first.id, hostile.id];

async function printed(
  globals: OutputFlags,
  columns: number | undefined,
  print: (emitter: Emitter) => Promise<void>,
): Promise<{ out: string; err: string }> {
  const { emitter, out, err } = capture(globals, columns);
  await print(emitter);
  await emitter.close();
  return { out: out(), err: err() };
}

const list = (items: readonly Task[]) => (emitter: Emitter) => emitter.list(taskView, items, PAGE);
const item = (emitter: Emitter) => emitter.item(taskView, first);
const stream = async (emitter: Emitter): Promise<void> => {
  emitter.check(taskView, 'stream');
  await emitter.lines(taskView, [hostile]);
  await emitter.record({ type: 'outcome' });
  await emitter.record({ type: 'outcome', text: '\u009b' }, 'finished\u202e');
};
const PLAIN =
  `failed e\u0301vil \\x1b[2J\\x9b31m \\u202egpj.exe\ttab\n  line ` + `\\ end\nfinished\\u202e\n`;
const OUTCOMES = '{"type":"outcome"}\n{"type":"outcome","text":"\\u009b"}\n';
const OBJECT = `${JSON.stringify({ ...hostile, beyond: true })
  .replace('\u009b', '\\u009b')
  .replace('\u202e', '\\u202e')}\n`;

it.each<
  [string, OutputFlags, number | undefined, (emitter: Emitter) => Promise<void>, string, string?]
>([
  ['a stream in a pipe is plain lines', {}, undefined, stream, PLAIN],
  ['a stream on a terminal is plain lines', {}, 80, stream, PLAIN],
  ['a stream with --json is one object a line', { format: 'json' }, 80, stream, OBJECT + OUTCOMES],
  ['a stream as ndjson is one object a line', { format: 'ndjson' }, 80, stream, OBJECT + OUTCOMES],
  [
    'a stream as tsv is rows',
    { format: 'tsv', fields: ['id', 'status'] },
    undefined,
    stream,
    `${B}\tfailed\n`,
  ],
  ['a stream with -q is ids', { format: 'id' }, undefined, stream, `${B}\n`],
  ['an empty list on a terminal prints a notice', {}, 80, list([]), '', 'no tasks\n'],
  ['an empty list in a pipe prints nothing', {}, undefined, list([]), ''],
  [
    'a list in a pipe is tsv: no header, nothing cut, exact times, escapes',
    {},
    undefined,
    list(TASKS),
    [
      `${A}\t${first.title}\trunning\t0.0042\tbug,a,b\t2026-03-01T11:56:59.123456Z\n`,
      `${B}\te\u0301vil \\x1b[2J\\x9b31m \\u202egpj.exe\\ttab\\nline \\\\ ` +
        `end\tfailed\t\t\t2025-12-24T00:00:00Z\n`,
    ].join(''),
  ],
  [
    'ids have no line for an empty one',
    { format: 'id' },
    undefined,
    list([...TASKS, { ...first, id: '' }]),
    `${A}\n${B}\n`,
  ],
  [
    'json has the members of --fields in their order',
    { format: 'json', fields: ['status', 'id'] },
    undefined,
    list([hostile]),
    `{\n  "items": [\n    {\n      "status": "failed",\n      "id": "${B}"\n    }\n  ],\n  ` +
      `"has_more": false\n}\n`,
  ],
  [
    'one thing in a pipe is a row',
    { fields: ['id', 'status'] },
    undefined,
    item,
    `${A}\trunning\n`,
  ],
  ['one thing with -q is an id', { format: 'id' }, 80, item, `${A}\n`],
])('%s', async (_, globals, columns, print, out, err = '') => {
  expect(await printed(globals, columns, print)).toEqual({ out, err });
});

it('one thing in JSON has the members that the command adds', async () => {
  const { out } = await printed({ format: 'json' }, undefined, (emitter) =>
    emitter.item(taskView, first, { changed: true }),
  );
  expect(JSON.parse(out)).toEqual({ ...first, beyond: true, changed: true });
});

describe('raw bytes', () => {
  const bytes = Buffer.concat([
    Buffer.from('\ufeffdiff \x1b[2J\r\n'),
    Buffer.from([0xff, 0x00, 0xe2]),
  ]);

  it('are the same bytes on a pipe, and safe on a terminal', async () => {
    const [piped, shown] = [capture(), capture({}, 80)];
    for (const { emitter } of [piped, shown]) {
      for (const byte of bytes) await emitter.raw(Uint8Array.of(byte));
      await emitter.close();
    }
    expect(piped.bytes().equals(bytes)).toBe(true);
    expect(shown.out()).toBe('\\ufeffdiff \\x1b[2J\n\ufffd\\x00\ufffd');
  });
});

it.each(['table', 'tsv', 'json', 'ndjson'] as const)(
  'secrets in free text are redacted as %s',
  async (format) => {
    const title = 'clone https://user:t0p@host/x';
    const redact = (text: string) => text.replaceAll('t0p', '<redacted>');
    const { emitter, out } = capture({ format }, undefined, { redact });
    const task = { ...first, title };
    await emitter.list(taskView, [task], PAGE);
    await emitter.item(taskView, task);
    await emitter.lines(taskView, [task]);
    await emitter.record({ title }, title);
    expect(out()).not.toContain('t0p');
    expect(out().match(/<redacted>/g)?.length).toBeGreaterThan(2);
  },
);

it('objects are readable in a table and JSON in tsv', async () => {
  const fields = [{ name: 'it', get: (value: unknown) => value }];
  const view = { noun: 'thing', id: () => 'x', fields, table: ['it'], tsv: ['it'] };
  const [url, deep] = [[{ name: 'editor', url: 'http://h' }], { deep: { er: 1 } }];
  const things = [{ input: 3, output: null }, url, deep, ['a', 'b'], true, 0, ''];
  const shown = (columns?: number) =>
    printed({}, columns, (emitter) => emitter.list(view, things, PAGE));
  const table = 'IT\ninput: 3\nname: editor, url: http://h\n{"deep":{"er":1}}\na, b\nyes\n0\n\n';
  expect((await shown(80)).out).toBe(table);
  const tsv =
    '{"input":3,"output":null}\n[{"name":"editor","url":"http://h"}]\n{"deep":{"er":1}}\na,b\ntrue\n0\n\n';
  expect((await shown()).out).toBe(tsv);
});

describe('a bulk command', () => {
  const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
  const error = { code: 'conflict', message: 'busy' };
  const items = [
    { id: a, ok: true, changed: true, before: 'running', after: 'paused', error: null },
    { id: b, ok: false, changed: false, before: 'error', after: null, error },
  ];
  const bulk = (emitter: Emitter) => emitter.bulk({ items, matched: 2, failed: 1 });

  it('prints a document with counts, rows, or the ids of the changed records', async () => {
    expect(JSON.parse((await printed({ format: 'json' }, undefined, bulk)).out)).toEqual({
      items,
      matched: 2,
      failed: 1,
    });
    const rows =
      `${a}\ttrue\ttrue\trunning\tpaused\t\n${b}\tfalse\tfalse\terror\t\tconflict: ` + `busy\n`;
    expect((await printed({}, undefined, bulk)).out).toBe(rows);
    expect((await printed({ format: 'id' }, undefined, bulk)).out).toBe(`${a}\n`);
    expect((await printed({}, 80, bulk)).out.split('\n')).toEqual([
      'ID        OK   CHANGED  BEFORE   AFTER   ERROR',
      'aaaaaaaa  yes  yes      running  paused',
      'bbbbbbbb  no   no       error            conflict: busy',
      '',
    ]);
  });

  it('that matched nothing prints a notice on a terminal', async () => {
    const none = (emitter: Emitter) => emitter.bulk({ items: [], matched: 0, failed: 0 });
    expect(await printed({}, 80, none)).toEqual({ out: '', err: 'nothing matched\n' });
  });
});

it.each<[OutputFlags, OutputKind, object?, null?]>([
  [{ fields: ['id', 'id'] }, 'list', { message: 'duplicate field "id" in --fields' }],
  [
    { fields: ['id', 'colour'] },
    'list',
    {
      message: 'unknown field "colour" for task',
      details: { hint: 'fields: id, title, status, cost_usd, labels, created_at' },
    },
  ],
  [{ format: 'json' }, 'raw'],
  [{ format: 'id' }, 'raw'],
  [{ fields: ['id'] }, 'raw'],
  [{ format: 'table' }, 'stream'],
  [{ format: 'id', fields: ['id'] }, 'list'],
  [{ fields: ['id'] }, 'item', {}, null],
])(
  '%o is refused for %s',
  (settings, kind, error = {}, view: typeof taskView | null = taskView) => {
    const check = () => capture(settings).emitter.check(view, kind);
    expect(check).toThrow(expect.objectContaining({ kind: 'usage', ...error }));
  },
);

it.each<[OutputFlags, OutputKind, null?]>([
  [{ fields: ['title', 'id'] }, 'list'],
  [{ format: 'json' }, 'item', null],
  [{}, 'raw'],
  [{ format: 'json' }, 'stream'],
  [{ format: 'tsv' }, 'stream'],
  [{ format: 'ndjson' }, 'item'],
  [{ format: 'id' }, 'bulk'],
  [{ format: 'table' }, 'bulk'],
])('%o is accepted for %s', (settings, kind, view: typeof taskView | null = taskView) => {
  expect(() => capture(settings).emitter.check(view, kind)).not.toThrow();
});
