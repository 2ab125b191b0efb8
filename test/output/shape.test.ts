import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { capture, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

describe('a list on a terminal', () => {
  test('an empty one prints a notice on stderr and nothing on stdout', async () => {
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

  test('an empty one prints nothing', async () => {
    const { emitter, out, err } = capture();
    await emitter.list(taskView, [], PAGE);
    expect([out(), err()]).toEqual(['', '']);
  });

  test('a requested table is not cut, with full ids', async () => {
    const { emitter, out } = capture({ format: 'table' });
    await emitter.list(taskView, TASKS.slice(0, 1), PAGE);
    expect(out()).toBe(
      `${'ID'.padEnd(34)}${'TITLE'.padEnd(stringWidth(TASKS[0]?.title ?? '') + 2)}STATUS   CREATED AT\n` +
        `3f2504e04f8941d39a0c0305e82c3301  ${TASKS[0]?.title}  running  3m ago\n`,
    );
  });

  test('id is ids only', async () => {
    const { emitter, out } = capture({ format: 'id' });
    await emitter.list(taskView, [...TASKS, { ...(TASKS[0] as (typeof TASKS)[0]), id: '' }], PAGE);
    expect(out()).toBe('3f2504e04f8941d39a0c0305e82c3301\n3f2504e04f8a41d39a0c0305e82c3302\n');
  });
});

describe('one thing', () => {
  test('is the object in json, with the members that the command adds', async () => {
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
