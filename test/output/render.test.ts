import { readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { renderLines, renderTable, shortenIds } from '../../src/output/render.ts';
import { NO_COLORS, type Palette } from '../../src/base/text/notice.ts';
import type { Field, LinePart, View } from '../../src/output/view.ts';
import { widthOf } from '../../src/base/text/width.ts';
import { coloredPalette, paletteFor } from '../../src/terminal/palette.ts';
import { folderOfEachTest } from '../support/temporary-folder.ts';
import type { OutputFlags } from '../../src/output/emit.ts';
import { capture, TASKS, taskView, type Task } from './capture.ts';

const PAGE = { has_more: false };
const [TASK, HOSTILE] = TASKS as [Task, Task];
const folder = folderOfEachTest();

const PIECES = [
  ...[
    'word',
    ' ',
    '日本',
    '👩‍👩‍👧‍👦',
    '🇩🇪',
    'e\u0301',
    '\u0301\u0301',
    '\x1b[2J',
    '\u009b',
    '\u202e',
    '\u200d',
    '\r\n',
  ],
  ...['\t', '\ue000', 'ﾊﾟ', '한', 'ᄀ', 'ᅡ', 'क्षि', '\ud83d', '…', '❤️', '1️⃣', '\0'],
];

/** Anything that acts on a terminal, once the colours of acs are taken off. */
const HARMFUL =
  /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

test('no line is wider than the terminal or has control characters, whatever the cells have', async () => {
  const random = randomFrom(20);
  const pick = (below: number) => Math.floor(random() * below);
  for (let round = 0; round < 400; round += 1) {
    const columns = 1 + pick(6);
    const fields: Field<string[]>[] = Array.from({ length: columns }, (_, index) => ({
      name: `field_${'x'.repeat(pick(9))}${index}`,
      get: (row) => row[index] ?? null,
      as: (['text', 'id', 'status', 'time'] as const)[pick(4)],
      weight: pick(4),
    }));
    const rows = Array.from({ length: pick(5) + 1 }, () =>
      Array.from({ length: columns }, () =>
        Array.from({ length: pick(20) }, () => PIECES[pick(PIECES.length)]).join(''),
      ),
    );
    const width = 1 + pick(100);
    const table = renderTable(fields, rows, { width, palette: await coloredPalette(), nowMs: 0 });
    const lines = stripVTControlCharacters(table).split('\n');
    expect(lines).toHaveLength(rows.length + 2);
    for (const line of lines) {
      expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(line).not.toMatch(HARMFUL);
    }
  }
});

test('columns are aligned although cells have wide, combining or joined characters', async () => {
  const fields: Field<string>[] = [
    { name: 'a', get: (row) => row },
    { name: 'b', get: () => '|' },
  ];
  const rows = ['plain', '日本語', '👩‍👩‍👧‍👦', 'e\u0301', '🇩🇪 x', 'ﾊﾟ', '한국', '\ue000', '1️⃣'];
  const table = renderTable(fields, rows, { width: 40, palette: await coloredPalette(), nowMs: 0 });
  const [, ...lines] = stripVTControlCharacters(table).trimEnd().split('\n');
  expect(lines.map((line) => widthOf(line.slice(0, line.indexOf('|'))))).toEqual(rows.map(() => 8));
});

test('ids are shortened to the shortest unique prefixes', () => {
  expect(shortenIds(['aaaaaaaabbbb', 'aaaaaaaacccc'])).toEqual(['aaaaaaaab', 'aaaaaaaac']);
  expect(shortenIds(['1111111111', '2222222222'])).toEqual(['11111111', '22222222']);
  expect(shortenIds(['same-id-of-two', 'same-id-of-two'])).toEqual(['same-id-', 'same-id-']);
  expect(shortenIds(['abc', ''])).toEqual(['abc', '']);
});

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('statuses are coloured without a change of widths', async () => {
  const palette = () => paletteFor({ isTTY: true }, {}, 'auto');
  const [colored, plain] = [capture({}, 80, { palette }), capture({}, 80)];
  for (const { emitter } of [colored, plain]) await emitter.list(taskView, TASKS, PAGE);
  expect(colored.out()).toContain('\x1b[36mrunning\x1b[39m');
  expect(colored.out()).toContain('\x1b[31mfailed\x1b[39m');
  expect(stripVTControlCharacters(colored.out())).toBe(plain.out());
});

describe('one thing', () => {
  test('is key and value rows on a terminal, without empty values', async () => {
    const { emitter, out } = capture({}, 80);
    await emitter.item(taskView, HOSTILE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      id          3f2504e04f8a41d39a0c0305e82c3302
      title       évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\ end
      status      failed
      created at  2025-12-24T00:00:00Z
      "
    `);
  });

  test('shows the time absolute and relative', async () => {
    const { emitter, out } = capture({ fields: ['created_at', 'cost_usd'] }, 80);
    await emitter.item(taskView, TASK);
    expect(out()).toBe('created at  2026-03-01T11:56:59Z (3m ago)\ncost usd    $0.0042\n');
  });
});

describe('a table on a terminal', () => {
  test('has the whole cells of --fields in their order', async () => {
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

  test('is not cut in a pipe, and has full ids there', async () => {
    const { emitter, out } = capture({ format: 'table' });
    await emitter.list(taskView, [TASK], PAGE);
    const title = 'TITLE'.padEnd(widthOf(TASK.title ?? '') + 2);
    expect(out()).toBe(
      `${'ID'.padEnd(34)}${title}STATUS   CREATED AT\n${TASK.id}  ${TASK.title}  running  3m ago\n`,
    );
  });

  test('cuts the columns that may be cut, at 80 columns', async () => {
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

  test('keeps id, status and time whole at 40 columns, and leaves columns out when they do not fit', async () => {
    const [narrow, least] = [capture({}, 40), capture({}, 14)];
    for (const { emitter } of [narrow, least]) await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${narrow.out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE  STATUS   CREATED AT
      3f2504e04f89  Repa…  running  3m ago
      3f2504e04f8a  évil…  failed   2025-12-24
      "
    `);
    expect(least.out()).toBe('ID\n3f2504e04f89\n3f2504e04f8a\n');
  });

  test('cuts a path at its front, a URL never, and has the readable value of a field', async () => {
    const path = '/home/me/projects/greeter';
    const view: View<string> = {
      noun: 'link',
      id: (url) => url,
      fields: [
        { name: 'folder', get: () => path, cut: 'front' },
        { name: 'base_url', label: 'link', get: (url) => url },
        { name: 'kind', get: () => 'LongEvent', show: () => 'long' },
      ],
    };
    const urls = ['http://host.example/a', 'http://host.example/ab'];
    const [table, chosen] = [capture({}, 40), capture({ fields: ['kind'] }, 40)];
    for (const { emitter } of [table, chosen]) await emitter.list(view, urls, PAGE);
    expect(`\n${table.out()}`).toMatchInlineSnapshot(`
      "
      FOLDER      LINK                    KIND
      …s/greeter  http://host.example/a   long
      …s/greeter  http://host.example/ab  long
      "
    `);
    expect(chosen.out()).toContain('LongEvent');
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
});

/** Colours that can be read. */
const MARKS: Palette = { ...NO_COLORS, dim: (text) => `<${text}>`, bold: (text) => `*${text}*` };

const EVENT: LinePart[] = [
  { text: ' 0:07  ', tone: 'dim' },
  { text: '$ git log --oneline --since yesterday\n  | head', tone: 'bold' },
];

test('text that does not fit continues below itself', async () => {
  expect(`\n${renderLines([EVENT], { width: 32, palette: MARKS }, 7)}`).toMatchInlineSnapshot(`
    "
    < 0:07  >*$ git log --oneline
           --since yesterday
             | head*
    "
  `);
});

test.each([60, 80, 120])('no line is wider than the %i columns of the terminal', async (width) => {
  const prose =
    'The quick brown fox, その他 の長い 文章、 and 👩‍👩‍👧‍👦 families jump over many lazy dogs. '.repeat(
      9,
    );
  const text = renderLines(
    [[{ text: ' 0:07  ✓ ' }, { text: prose }]],
    { width, palette: NO_COLORS },
    7,
  );
  const lines = text.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => widthOf(line)))).toBeLessThanOrEqual(width);
  expect(Math.min(...lines.slice(0, -1).map((line) => widthOf(line)))).toBeGreaterThan(width - 12);
  expect(lines.slice(1).every((line) => /^ {7}\S/.test(line))).toBe(true);
  const all = lines.map((line) => line.trim()).join('');
  expect(all.replaceAll(' ', '')).toBe(` 0:07  ✓ ${prose}`.replaceAll(' ', ''));
});

test('a terminal too narrow for the indentation breaks the lines itself', async () => {
  const text = renderLines([EVENT], { width: 16, palette: NO_COLORS }, 7);
  expect(text).toBe(' 0:07  $ git log --oneline --since yesterday\n    | head\n');
});

test('further lines of a text are indented, so that they cannot look like lines of acs', async () => {
  const hostile = { ...taskView, line: () => [{ text: 'a\r\n   b\nerror: no\n\n\u001b[2Jd' }] };
  for (const columns of [undefined, 80]) {
    const { emitter, out } = capture({}, columns);
    await emitter.lines(hostile, [TASK]);
    expect(out()).toBe('a\n     b\n  error: no\n\n  \\x1b[2Jd\n');
  }
});

test('each line has the width that the terminal has then', async () => {
  const title = 'ten words that stand for a longer text of it';
  const written: string[] = [];
  const write = (chunk: string | Uint8Array) => Promise.resolve(void written.push(String(chunk)));
  const stdout = { isTTY: true, columns: 80, write };
  const { emitter } = capture({}, 80, { io: { stdout, stderr: stdout } });
  await emitter.lines(taskView, [{ ...TASK, title }]);
  stdout.columns = 30;
  await emitter.lines(taskView, [{ ...TASK, title }]);
  expect(written).toEqual([
    `running ${title}\n`,
    'running ten words that stand\n  for a longer text of it\n',
  ]);
});

test('the values of a record continue below themselves, and are never cut or broken inside a word', async () => {
  const { emitter, out } = capture({}, 40);
  await emitter.item(taskView, {
    ...TASK,
    title: 'Repair the parser of dates and tell what was wrong',
    labels: ['a'.repeat(50)],
  });
  expect(`\n${out()}`).toMatchInlineSnapshot(`
    "
    id
      3f2504e04f8941d39a0c0305e82c3301
    title       Repair the parser of dates
                and tell what was wrong
    status      running
    cost usd    $0.0042
    labels      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    created at  2026-03-01T11:56:59Z (3m
                ago)
    "
  `);
});

test('colours of FORCE_COLOR go to a pipe, but neither into a file nor into rows for scripts', async () => {
  const written = async (globals: OutputFlags): Promise<string> => {
    const { emitter, out } = capture(globals, undefined, {
      cwd: folder.path,
      palette: () => Promise.resolve(MARKS),
    });
    await emitter.lines(taskView, [TASK]);
    await emitter.close();
    return (
      out() +
      (globals.output === undefined
        ? ''
        : readFileSync(path.join(folder.path, globals.output), 'utf8'))
    );
  };
  expect(await written({})).toContain('<running>');
  expect(await written({ format: 'tsv' })).not.toContain('<running>');
  expect(await written({ output: 'file' })).toMatch(/^running /);
});
