import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { paletteFor } from '../../src/terminal/palette.ts';
import { capture, NOW, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

describe('a list on a terminal', () => {
  test('has a header, two spaces between columns and whole cells where they fit, at 120 columns', async () => {
    const { emitter, out } = capture({}, 120);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE                                                                    STATUS   CREATED AT
      3f2504e04f89  Repair the parser of 日本語 dates 👩‍👩‍👧‍👦 and explain what was wrong with it  running  3m ago
      3f2504e04f8a  évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\ end                         failed   2025-12-24
      "
    `);
  });

  test('gives way where it may be cut, at 80 columns', async () => {
    const { emitter, out } = capture({}, 80);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE                                          STATUS   CREATED AT
      3f2504e04f89  Repair the parser of 日本語 dates 👩‍👩‍👧‍👦 and exp…  running  3m ago
      3f2504e04f8a  évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\…  failed   2025-12-24
      "
    `);
  });

  test('keeps id, status and time whole at 40 columns', async () => {
    const { emitter, out } = capture({}, 40);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE  STATUS   CREATED AT
      3f2504e04f89  Repa…  running  3m ago
      3f2504e04f8a  évil…  failed   2025-12-24
      "
    `);
  });

  test('leaves columns out when there is no room for them', async () => {
    const { emitter, out } = capture({}, 14);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID
      3f2504e04f89
      3f2504e04f8a
      "
    `);
  });

  test('leaves empty columns out before it cuts others', async () => {
    const tasks = TASKS.map((task) => ({ ...task, status: '' }));
    const { emitter, out } = capture({}, 40);
    await emitter.list(taskView, tasks, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE           CREATED AT
      3f2504e04f89  Repair the pa…  3m ago
      3f2504e04f8a  évil \\x1b[2J\\…  2025-12-24
      "
    `);
    const wide = capture({}, 120);
    await wide.emitter.list(taskView, tasks, PAGE);
    expect(wide.out()).toContain('STATUS');
  });

  test('shows chosen fields in the order asked for', async () => {
    const { emitter, out } = capture({ fields: ['cost_usd', 'labels', 'id'] }, 80);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      COST USD  LABELS    ID
      $0.0042   bug, a,b  3f2504e04f89
                          3f2504e04f8a
      "
    `);
  });

  test('colours statuses without taking room', async () => {
    const written: string[] = [];
    const emitter = createEmitter({
      io: {
        stdout: { write: async (chunk) => void written.push(String(chunk)), isTTY: true, columns: 80 },
        stderr: { write: async () => undefined },
      },
      globals: {},
      now: () => NOW,
      palette: () => paletteFor({ isTTY: true, env: {}, color: 'auto' }),
    });
    await emitter.list(taskView, TASKS, PAGE);
    const plain = capture({}, 80);
    await plain.emitter.list(taskView, TASKS, PAGE);
    const text = written.join('');
    expect(text).toContain('\x1b[36mrunning\x1b[39m');
    expect(text).toContain('\x1b[31mfailed\x1b[39m');
    expect(stripVTControlCharacters(text)).toBe(plain.out());
  });

  test('an empty one is a word on stderr and nothing on stdout', async () => {
    const { emitter, out, err } = capture({}, 80);
    await emitter.list(taskView, [], PAGE);
    expect([out(), err()]).toEqual(['', 'no tasks\n']);
  });
});

describe('a list on a pipe', () => {
  test('is tsv: no header, nothing cut, exact times, escapes', async () => {
    const { emitter, out } = capture();
    await emitter.list(taskView, TASKS, PAGE);
    expect(
      out()
        .split('\n')
        .map((line) => line.split('\t')),
    ).toEqual([
      [
        '3f2504e04f8941d39a0c0305e82c3301',
        TASKS[0]?.title,
        'running',
        '0.0042',
        'bug,a,b',
        '2026-03-01T11:56:59.123456Z',
      ],
      [
        '3f2504e04f8a41d39a0c0305e82c3302',
        'e\u0301vil \\x1b[2J\\x9b31m \\u202egpj.exe\\ttab\\nline \\\\ end',
        'failed',
        '',
        '',
        '2025-12-24T00:00:00Z',
      ],
      [''],
    ]);
  });

  test('an empty one is nothing at all', async () => {
    const { emitter, out, err } = capture();
    await emitter.list(taskView, [], PAGE);
    expect([out(), err()]).toEqual(['', '']);
  });

  test('a table asked for is whole, with full ids', async () => {
    const { emitter, out } = capture({ format: 'table' });
    await emitter.list(taskView, TASKS.slice(0, 1), PAGE);
    expect(out()).toBe(
      `${'ID'.padEnd(34)}${'TITLE'.padEnd(stringWidth(TASKS[0]?.title ?? '') + 2)}STATUS   CREATED AT\n` +
        `3f2504e04f8941d39a0c0305e82c3301  ${TASKS[0]?.title}  running  3m ago\n`,
    );
  });

  test('json is one document with the whole records and nothing raw', async () => {
    const { emitter, out } = capture({ format: 'json' });
    await emitter.list(taskView, TASKS, { has_more: true });
    expect(out()).toContain('\\u009b31m \\u202egpj');
    expect(out().endsWith('\n}\n')).toBe(true);
    expect(JSON.parse(out())).toEqual({ items: TASKS.map((task) => ({ ...task, beyond: true })), has_more: true });
  });

  test('json with --fields has those members in that order', async () => {
    const { emitter, out } = capture({ format: 'json', fields: ['status', 'id'] });
    await emitter.list(taskView, TASKS.slice(1), PAGE);
    expect(out()).toBe(
      '{\n  "items": [\n    {\n      "status": "failed",\n      "id": "3f2504e04f8a41d39a0c0305e82c3302"\n    }\n  ],\n  "has_more": false\n}\n',
    );
  });

  test('an empty json list is still a document', async () => {
    const { emitter, out } = capture({ format: 'json' });
    await emitter.list(taskView, [], PAGE);
    expect(JSON.parse(out())).toEqual({ items: [], has_more: false });
  });

  test('ndjson is one object a line', async () => {
    const { emitter, out } = capture({ format: 'ndjson' });
    await emitter.list(taskView, TASKS, PAGE);
    const lines = out().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(TASKS.map((task) => ({ ...task, beyond: true })));
  });

  test('id is ids only', async () => {
    const { emitter, out } = capture({ format: 'id' });
    await emitter.list(taskView, [...TASKS, { ...(TASKS[0] as (typeof TASKS)[0]), id: '' }], PAGE);
    expect(out()).toBe('3f2504e04f8941d39a0c0305e82c3301\n3f2504e04f8a41d39a0c0305e82c3302\n');
  });
});

describe('one thing', () => {
  test('is key and value rows on a terminal, without what is empty', async () => {
    const { emitter, out } = capture({}, 80);
    await emitter.item(taskView, TASKS[1] as (typeof TASKS)[0]);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      id          3f2504e04f8a41d39a0c0305e82c3302
      title       évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\ end
      status      failed
      created at  2025-12-24T00:00:00Z
      "
    `);
  });

  test('shows the time both ways', async () => {
    const { emitter, out } = capture({ fields: ['created_at', 'cost_usd'] }, 80);
    await emitter.item(taskView, TASKS[0] as (typeof TASKS)[0]);
    expect(out()).toBe('created at  2026-03-01T11:56:59.123456Z (3m ago)\ncost usd    $0.0042\n');
  });

  test('is the object in json, with what the command adds', async () => {
    const { emitter, out } = capture({ format: 'json' });
    await emitter.item(taskView, TASKS[0] as (typeof TASKS)[0], { changed: true });
    expect(JSON.parse(out())).toEqual({ ...TASKS[0], beyond: true, changed: true });
  });

  test('is a row of tsv on a pipe and an id with -q', async () => {
    const piped = capture({ fields: ['id', 'status'] });
    await piped.emitter.item(taskView, TASKS[0] as (typeof TASKS)[0]);
    expect(piped.out()).toBe('3f2504e04f8941d39a0c0305e82c3301\trunning\n');
    const quiet = capture({ format: 'id' }, 80);
    await quiet.emitter.item(taskView, TASKS[0] as (typeof TASKS)[0]);
    expect(quiet.out()).toBe('3f2504e04f8941d39a0c0305e82c3301\n');
  });
});

describe('a bulk command', () => {
  const items = [
    { id: 'aaaaaaaaaa', ok: true, changed: true, before: 'running', after: 'paused', error: null },
    {
      id: 'bbbbbbbbbb',
      ok: false,
      changed: false,
      before: 'error',
      after: null,
      error: { code: 'conflict', message: 'busy' },
    },
  ];

  test('is a document with counts, rows, ids of what went well', async () => {
    const json = capture({ format: 'json' });
    await json.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(JSON.parse(json.out())).toEqual({ items, matched: 2, failed: 1 });
    const tsv = capture();
    await tsv.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(tsv.out()).toBe(
      'aaaaaaaaaa\ttrue\ttrue\trunning\tpaused\t\t\nbbbbbbbbbb\tfalse\tfalse\terror\t\tconflict: busy\t\n',
    );
    const id = capture({ format: 'id' });
    await id.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(id.out()).toBe('aaaaaaaaaa\n');
    const table = capture({}, 80);
    await table.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(table.out()).toBe(
      'ID        OK   CHANGED  BEFORE   AFTER   ERROR\n' +
        'aaaaaaaa  yes  yes      running  paused\n' +
        'bbbbbbbb  no   no       error            conflict: busy\n',
    );
  });

  test('that matched nothing says so on a terminal', async () => {
    const { emitter, out, err } = capture({}, 80);
    await emitter.bulk({ items: [], matched: 0, failed: 0 });
    expect([out(), err()]).toEqual(['', 'nothing matched\n']);
  });
});

describe('a stream', () => {
  const hostile = TASKS[1] as (typeof TASKS)[0];

  test.each([
    [undefined, '\t'],
    [80, '       '],
  ])('is plain lines by default (%s columns)', async (columns, tab) => {
    const { emitter, out } = capture({}, columns);
    emitter.check(taskView, 'stream');
    await emitter.lines(taskView, [hostile]);
    await emitter.record({ type: 'outcome' });
    await emitter.record({ type: 'outcome' }, 'finished\u202e');
    expect(out()).toBe(`failed e\u0301vil \\x1b[2J\\x9b31m \\u202egpj.exe${tab}tab\n  line \\ end\nfinished\\u202e\n`);
  });

  test('is one object a line with --json and --format ndjson', async () => {
    for (const format of ['json', 'ndjson'] as const) {
      const { emitter, out } = capture({ format }, 80);
      emitter.check(taskView, 'stream');
      expect(emitter.format).toBe('ndjson');
      await emitter.lines(taskView, [hostile]);
      await emitter.record({ type: 'outcome', text: '\u009b' }, 'never seen');
      const [first, second, end] = out().split('\n');
      expect(JSON.parse(first ?? '')).toEqual({ ...hostile, beyond: true });
      expect([second, end]).toEqual(['{"type":"outcome","text":"\\u009b"}', '']);
    }
  });

  test('is rows with tsv or --fields, and ids with -q', async () => {
    const tsv = capture({ format: 'tsv', fields: ['id', 'status'] });
    await tsv.emitter.lines(taskView, [hostile]);
    await tsv.emitter.record({ type: 'outcome' }, 'finished');
    expect(tsv.out()).toBe('3f2504e04f8a41d39a0c0305e82c3302\tfailed\n');
    const id = capture({ format: 'id' });
    await id.emitter.lines(taskView, [hostile]);
    await id.emitter.record({ type: 'outcome' }, 'finished');
    expect(id.out()).toBe('3f2504e04f8a41d39a0c0305e82c3302\n');
  });
});

describe('raw bytes', () => {
  const bytes = Buffer.concat([Buffer.from('\ufeffdiff \x1b[2J\r\n'), Buffer.from([0xff, 0x00, 0xe2])]);

  test('are the same bytes on a pipe', async () => {
    const { emitter } = capture();
    const written: Buffer[] = [];
    const piped = createEmitter({
      io: {
        stdout: { write: async (chunk) => void written.push(Buffer.from(chunk)), isTTY: false, columns: undefined },
        stderr: { write: async () => undefined },
      },
      globals: {},
      now: () => NOW,
    });
    expect(emitter.format).toBe('tsv');
    for (const byte of bytes) await piped.raw(Uint8Array.of(byte));
    await piped.close();
    expect(Buffer.concat(written).equals(bytes)).toBe(true);
  });

  test('are safe on a terminal', async () => {
    const { emitter, out } = capture({}, 80);
    for (const byte of bytes) await emitter.raw(Uint8Array.of(byte));
    await emitter.close();
    expect(out()).toBe('\\ufeffdiff \\x1b[2J\n\ufffd\\x00\ufffd');
  });
});

test('secrets in free text are taken out of every format', async () => {
  const title = 'clone https://user:t0p@host/x';
  const task = { ...(TASKS[0] as (typeof TASKS)[0]), title };
  for (const format of ['table', 'tsv', 'json', 'ndjson'] as const) {
    const written: string[] = [];
    const emitter = createEmitter({
      io: {
        stdout: { write: async (chunk) => void written.push(String(chunk)), isTTY: false, columns: undefined },
        stderr: { write: async () => undefined },
      },
      globals: { format },
      now: () => NOW,
      redact: (text) => text.replaceAll('t0p', '<redacted>'),
    });
    await emitter.list(taskView, [task], PAGE);
    await emitter.item(taskView, task);
    await emitter.lines(taskView, [task]);
    await emitter.record({ title }, title);
    expect(written.join('')).not.toContain('t0p');
    expect(written.join('')).toContain('<redacted>');
  }
});

test('objects read well in a table and are JSON in tsv', async () => {
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
