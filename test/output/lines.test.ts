import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { renderParts } from '../../src/output/lines.ts';
import type { LinePart } from '../../src/output/view.ts';
import { NO_COLORS, type Palette } from '../../src/text/palette.ts';
import { capture, TASKS, taskView } from './capture.ts';
import type { EmitterSettings } from '../../src/output/emitter-options.ts';

const LAYOUT = { indent: 7, longWords: 'break' } as const;
/** Colours that can be read. */
const MARKS: Palette = { ...NO_COLORS, dim: (text) => `<${text}>`, bold: (text) => `*${text}*` };

const EVENT: LinePart[] = [
  { text: ' 0:07  ', tone: 'dim' },
  { text: '$ git log --oneline --since yesterday\n  | head', tone: 'bold' },
];

test('text that does not fit continues below itself, and each line closes its colours', async () => {
  expect(`\n${await renderParts([EVENT], { width: 32, palette: MARKS }, LAYOUT)}`).toMatchInlineSnapshot(`
    "
    < 0:07  >*$ git log --oneline*
           *--since yesterday*
           *  | head*
    "
  `);
});

test.each([60, 80, 120])('no line is wider than the %i columns of the terminal', async (width) => {
  const prose = 'The quick brown fox, その他の長い文章、 and 👩‍👩‍👧‍👦 families jump over many lazy dogs. '.repeat(9);
  const text = await renderParts([[{ text: ' 0:07  ✓ ' }, { text: prose }]], { width, palette: NO_COLORS }, LAYOUT);
  const { default: stringWidth } = await import('string-width');
  const lines = text.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
  expect(Math.min(...lines.slice(0, -1).map((line) => stringWidth(line)))).toBeGreaterThan(width - 12);
  expect(lines.slice(1).every((line) => /^ {7}\S/.test(line))).toBe(true);
  expect(
    lines
      .map((line) => line.trim())
      .join('')
      .replaceAll(' ', ''),
  ).toBe(` 0:07  ✓ ${prose}`.replaceAll(' ', ''));
});

test('a terminal too narrow for the indentation breaks the lines itself', async () => {
  const text = await renderParts([EVENT], { width: 20, palette: NO_COLORS }, LAYOUT);
  expect(text).toBe(' 0:07  $ git log --oneline --since yesterday\n         | head\n');
});

test('further lines of a text are indented, so that they cannot look like lines of acs', async () => {
  const task = TASKS[0] as (typeof TASKS)[0];
  const hostile = { ...taskView, line: () => [{ text: 'a\r\n   b\nerror: no\n\n\u001b[2Jd' }] };
  for (const columns of [undefined, 80]) {
    const { emitter, out } = capture({}, columns);
    await emitter.lines(hostile, [task]);
    expect(out()).toBe('a\n     b\n  error: no\n\n  \\x1b[2Jd\n');
  }
});

test('each line has the width that the terminal has then', async () => {
  const task = { ...(TASKS[0] as (typeof TASKS)[0]), title: 'ten words that stand for a longer text of it' };
  const stdout = {
    isTTY: true,
    columns: 80,
    text: '',
    write: (chunk: string | Uint8Array) => {
      stdout.text += String(chunk);
      return Promise.resolve();
    },
  };
  const emitter = createEmitter({
    io: { stdout, stderr: { write: () => Promise.resolve() } },
    globals: {},
    now: () => 0,
  });
  await emitter.lines(taskView, [task]);
  stdout.columns = 30;
  await emitter.lines(taskView, [task]);
  expect(stdout.text.split('\n')).toEqual([
    `running ${task.title}`,
    'running ten words that stand',
    '  for a longer text of it',
    '',
  ]);
});

test('the values of a record continue below themselves, and are never cut or broken inside a word', async () => {
  const { emitter, out } = capture({}, 40);
  await emitter.item(taskView, {
    ...(TASKS[0] as (typeof TASKS)[0]),
    title: 'Repair the parser of dates and tell what was wrong',
    labels: ['a'.repeat(50)],
  });
  expect(`\n${out()}`).toMatchInlineSnapshot(`
    "
    id          3f2504e04f8941d39a0c0305e82c3301
    title       Repair the parser of dates
                and tell what was wrong
    status      running
    cost usd    $0.0042
    labels      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    created at  2026-03-01T11:56:59.123456Z
                (3m ago)
    "
  `);
});

test('colours of FORCE_COLOR go to a pipe, but neither into a file nor into rows for scripts', async () => {
  const task = TASKS[0] as (typeof TASKS)[0];
  const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-lines-'));
  try {
    const written = async (globals: EmitterSettings): Promise<string> => {
      let text = '';
      const write = (chunk: string | Uint8Array) => Promise.resolve(void (text += String(chunk)));
      const emitter = createEmitter({
        io: { stdout: { isTTY: false, columns: undefined, write }, stderr: { write } },
        globals,
        cwd: dir,
        now: () => 0,
        palette: () => Promise.resolve(MARKS),
      });
      await emitter.lines(taskView, [task]);
      await emitter.close();
      return text + (globals.output === undefined ? '' : readFileSync(path.join(dir, globals.output), 'utf8'));
    };
    expect(await written({})).toContain('<running>');
    expect(await written({ format: 'tsv' })).not.toContain('<running>');
    expect(await written({ output: 'file' })).toMatch(/^running /);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
