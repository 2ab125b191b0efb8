import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { AppError } from '../../src/errors.ts';
import { NOW, taskView, TASKS } from './capture.ts';

/** Takes a little at a time, so that the pipe is full most of the time. */
const SLOW_READER = `
  let count = 0;
  const { createHash } = require('node:crypto');
  const hash = createHash('sha256');
  process.stdin.on('readable', function take() {
    const chunk = process.stdin.read(4096) ?? process.stdin.read();
    if (chunk === null) return;
    count += chunk.length;
    hash.update(chunk);
    setImmediate(take);
  });
  process.stdin.on('end', () => console.log(count, hash.digest('hex')));
`;

test('3 MiB through a slow pipe arrive completely', async () => {
  const { createHash } = await import('node:crypto');
  const reader = spawn(process.execPath, ['-e', SLOW_READER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const received: Buffer[] = [];
  reader.stdout.on('data', (chunk: Buffer) => received.push(chunk));
  const emitter = createEmitter({
    io: {
      stdout: {
        write: (chunk) =>
          new Promise((resolve, reject) => reader.stdin.write(chunk, (error) => (error ? reject(error) : resolve()))),
        isTTY: false,
        columns: undefined,
      },
      stderr: { write: () => Promise.resolve() },
    },
    globals: {},
    now: () => NOW,
  });
  const line = 'x'.repeat(1023) + '\n';
  for (let count = 0; count < 1024; count += 1) await emitter.raw(line);
  await emitter.raw(line.repeat(2048));
  await emitter.close();
  reader.stdin.end();
  await once(reader, 'close');
  const expected = createHash('sha256').update(line.repeat(3072)).digest('hex');
  expect(Buffer.concat(received).toString()).toBe(`${3 * 1024 * 1024} ${expected}\n`);
});

test('a reader that closes the pipe ends the command with exit code 141', async () => {
  const gone = new AppError('interrupted', 'the reader of the output is gone', { exitCode: 141 });
  const emitter = createEmitter({
    io: {
      stdout: { write: () => Promise.reject(gone), isTTY: false, columns: undefined },
      stderr: { write: () => Promise.resolve() },
    },
    globals: {},
    now: () => NOW,
  });
  await expect(emitter.list(taskView, TASKS, { has_more: false })).rejects.toBe(gone);
});
