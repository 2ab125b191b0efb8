import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { paletteFor } from '../../src/terminal/palette.ts';
import { capture, NOW, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

describe('a list on a terminal', () => {
  test('colours statuses without a change of widths', async () => {
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
});

describe('one thing', () => {
  test('is key and value rows on a terminal, without empty values', async () => {
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

  test('shows the time absolute and relative', async () => {
    const { emitter, out } = capture({ fields: ['created_at', 'cost_usd'] }, 80);
    await emitter.item(taskView, TASKS[0] as (typeof TASKS)[0]);
    expect(out()).toBe('created at  2026-03-01T11:56:59.123456Z (3m ago)\ncost usd    $0.0042\n');
  });
});
