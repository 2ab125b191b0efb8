import { describe, expect, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { capture, NOW, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

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

test('secrets in free text are redacted in every format', async () => {
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
