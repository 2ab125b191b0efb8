import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { IsolationConnection } from '../../../src/service/isolation/connection.ts';
import { until } from '../../support/test-clock.ts';
import type { RunParameters } from '../../../src/service/isolation/protocol.ts';

let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** A helper that reports its start, answers every request with these lines, and continues. */
async function helper(...lines: string[]): Promise<IsolationConnection> {
  const script = `
    console.log(JSON.stringify({ type: 'result', id: 0, result: { workingDir: '/' } }));
    process.stdin.on('data', () => process.stdout.write(${JSON.stringify(lines.map((line) => `${line}\n`).join(''))}));
  `;
  child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const connection = new IsolationConnection(child);
  await connection.ready;
  return connection;
}

const RUN: RunParameters = {
  argv: ['true'],
  cwd: '.',
  env: {},
  inherits: true,
  stdin: false,
  until: 'silent',
  window: 10,
};
const END = { exitCode: 0, pid: 7 };
const result = (id: number, value: unknown): string =>
  JSON.stringify({ type: 'result', id, result: value });
const output = (text: string): string =>
  JSON.stringify({
    type: 'output',
    id: 1,
    stream: 'stdout',
    data: Buffer.from(text).toString('base64'),
  });

describe('a helper', () => {
  it('returns the output and the result of a command', async () => {
    const connection = await helper(output('12345678'), result(1, END));
    const received: string[] = [];
    const { answer } = connection.ask('run', RUN, (_, data) =>
      received.push(data.toString('utf8')),
    );
    expect(await answer).toEqual(END);
    expect(received).toEqual(['12345678']);
  });

  it.each([
    ['is not JSON', 'not JSON'],
    ['is of no known type', '{"type":"other","id":1}'],
    ['has a member too many', '{"type":"result","id":1,"result":{},"more":1}'],
    ['answers what was not asked', result(2, END)],
    ['answers with a negative number', result(-1, END)],
    ['answers its start again', result(0, { workingDir: '/' })],
    [
      'is a failure of an unknown kind',
      '{"type":"failure","id":1,"failure":{"code":"gone","message":""}}',
    ],
    ['lacks a member of the result', result(1, { ...END, exitCode: undefined })],
    ['has an exit code out of range', result(1, { ...END, exitCode: 256 })],
    ['has a text where a number belongs', result(1, { ...END, pid: '7' })],
  ])('is ended when a frame %s', async (_, line) => {
    const connection = await helper(line);
    const { answer } = connection.ask('run', RUN, () => undefined);
    await expect(answer).rejects.toMatchObject({
      code: 'gone',
      message: expect.stringContaining('not valid'),
    });
    await connection.ended;
    await expect(connection.ask('list', { path: '.' }).answer).rejects.toMatchObject({
      code: 'gone',
    });
  });

  it('is ended when a program sends more than its window and a piece of each stream', async () => {
    const connection = await helper(output('x'.repeat(40_000)));
    const pieces: number[] = [];
    const { answer } = connection.ask('run', RUN, (_, data) => pieces.push(data.length));
    answer.catch(() => undefined);
    // The helper answers each request by a further piece; the fourth exceeds 10 + 2 * 64 KiB.
    for (let asked = 1; asked < 4; asked += 1) {
      await until(() => pieces.length === asked);
      connection.ask('list', { path: '.' }).answer.catch(() => undefined);
    }
    await expect(answer).rejects.toMatchObject({
      code: 'gone',
      message: expect.stringContaining('not valid'),
    });
    expect(pieces).toHaveLength(3);
  });

  it.each([
    ['streams output that nobody asked for', output('1')],
    ['sends a chunk longer than was asked for', result(1, { data: 'AAAAAAAA', size: 6 })],
    ['sends a negative size', result(1, { data: 'AAAA', size: -3 })],
  ])('is ended when it %s to a read', async (_, line) => {
    const connection = await helper(line);
    const { answer } = connection.ask('read', { path: 'x', token: 'a', offset: 0, length: 3 });
    await expect(answer).rejects.toMatchObject({ code: 'gone' });
  });
});
