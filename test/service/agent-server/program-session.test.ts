import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { EXEC_WINDOW } from '../../../src/protocol/agent-server/requests.ts';
import { describeEachSpec } from '../../support/bubblewrap.ts';
import { until } from '../../support/test-clock.ts';
import { isAlive, KEY, type OwnWorker, startOwnWorker } from './support/worker.ts';

const hasScript = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);
const START = { type: 'start', argv: ['true'], cwd: null, env: {}, stdin: false, terminal: null };

interface Session {
  client: WebSocket;
  stdout: Buffer[];
  stderr: Buffer[];
  frames: Record<string, unknown>[];
  /** Bytes of output that were received. */
  received(): number;
  send(frame: unknown): void;
  closed: Promise<number>;
}

function open(
  worker: OwnWorker,
  start: object | null,
  acknowledges: 'all' | 'nothing' = 'all',
): Session {
  const client = new WebSocket(`ws://127.0.0.1:${worker.port}/sockets/exec`, {
    headers: { 'X-Session-API-Key': KEY },
  });
  const session: Session = {
    client,
    stdout: [],
    stderr: [],
    frames: [],
    received: () =>
      [...session.stdout, ...session.stderr].reduce((sum, { length }) => sum + length, 0),
    send: (frame) => client.send(JSON.stringify(frame)),
    closed: new Promise((resolve) => client.once('close', (code) => resolve(code))),
  };
  client.on('error', () => undefined);
  client.on('open', () => start && session.send({ ...START, ...start }));
  client.on('message', (data: Buffer, isBinary) => {
    if (!isBinary)
      return void session.frames.push(JSON.parse(data.toString('utf8')) as Record<string, unknown>);
    session[data[0] === 2 ? 'stderr' : 'stdout'].push(data.subarray(1));
    if (acknowledges === 'all') session.send({ type: 'taken', bytes: data.length - 1 });
  });
  return session;
}

const last = ({ frames }: Session): unknown => frames.at(-1);
const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describeEachSpec('a program with %s', (spec) => {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker({ spec });
  });
  afterAll(() => worker.close());

  it('gets stdin byte for byte, within the window, and returns every byte', async () => {
    const session = open(worker, { argv: ['cat'], stdin: true });
    await until(() => session.client.readyState === WebSocket.OPEN);
    const bytes = randomBytes(5_000_000);
    const taken = (): number =>
      session.frames.reduce((sum, { bytes = 0 }) => sum + Number(bytes), 0);
    for (let offset = 0; offset < bytes.length; offset += 100_000) {
      await until(() => offset - taken() < EXEC_WINDOW - 100_000);
      session.client.send(bytes.subarray(offset, offset + 100_000));
    }
    session.send({ type: 'end' });
    expect(await session.closed).toBe(1000);
    expect(last(session)).toEqual({ type: 'exit', exit_code: 0 });
    expect(sha(Buffer.concat(session.stdout))).toBe(sha(bytes));
  });

  it('waits while its output is not acknowledged: at most the window and a piece of each stream is sent', async () => {
    const session = open(
      worker,
      { argv: ['sh', '-c', 'head -c 20000000 /dev/zero; echo x > ended'] },
      'nothing',
    );
    await until(() => session.received() >= EXEC_WINDOW);
    const other = open(worker, { argv: ['echo', 'other'] });
    expect(await other.closed).toBe(1000);
    expect(session.received()).toBeLessThanOrEqual(EXEC_WINDOW + 2 * 65_536);
    expect(existsSync(path.join(worker.place.workspace, 'ended'))).toBe(false);
    session.client.terminate();
  });

  it('is ended with everything it started when the client goes away', async () => {
    const line = 'setsid sleep 1000 & echo $! $$ > pids; wait';
    const session = open(worker, { argv: ['sh', '-c', `${line}`] });
    const file = path.join(worker.place.workspace, 'pids');
    await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
    const marked = open(worker, {
      argv: ['sh', '-c', 'for p in $(cat pids); do readlink /proc/$p/exe || exit 1; done'],
    });
    await marked.closed;
    expect(last(marked)).toEqual({ type: 'exit', exit_code: 0 });
    session.client.terminate();
    await until(async () => {
      const look = open(worker, {
        argv: ['sh', '-c', 'for p in $(cat pids); do [ -e /proc/$p/exe ] && exit 1; done; exit 0'],
      });
      await look.closed;
      return (last(look) as { exit_code: number }).exit_code === 0;
    });
  });

  it('has the environment of commands, without the key of the sandbox', async () => {
    const session = open(worker, { argv: ['env'], env: { ADDED: 'one\ntwo' } });
    await session.closed;
    const text = Buffer.concat(session.stdout).toString('utf8');
    expect(text).toContain('ADDED=one\ntwo\n');
    expect(text).not.toContain(KEY);
  });

  it('reports a working directory that does not exist', async () => {
    const session = open(worker, { cwd: 'no-such-folder' });
    await session.closed;
    expect(last(session)).toMatchObject({ type: 'failed', code: 'not-found' });
  });
});

describe('the socket for programs', () => {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker({ spec: 'process' });
  });
  afterAll(() => worker.close());

  it.each([
    ['no start', { type: 'end' }],
    ['an empty program', { ...START, argv: [] }],
    ['a variable that is not text', { ...START, env: { A: 1 } }],
    ['what is no object', 'start'],
  ])('closes with 1008 for a first frame with %s', async (_what, frame) => {
    const session = open(worker, null);
    session.client.on('open', () => session.send(frame));
    expect(await session.closed).toBe(1008);
  });

  it('closes with 1008 for more stdin than the window, and for an unknown signal', async () => {
    const full = open(worker, { argv: ['sleep', '1000'], stdin: true });
    full.client.on('open', () => full.client.send(Buffer.alloc(2 * EXEC_WINDOW)));
    expect(await full.closed).toBe(1008);
    const wrong = open(worker, { argv: ['sleep', '1000'] });
    wrong.client.on('open', () => wrong.send({ type: 'signal', signal: 'SIGSTOP' }));
    expect(await wrong.closed).toBe(1008);
  });

  it.runIf(hasScript)(
    'sets the last of several sizes of a terminal that come at once',
    async () => {
      const line =
        'echo ready; until [ "$(stty size)" = "30 60" ]; do sleep 0.05; done; sleep 0.3; stty size';
      const session = open(worker, {
        argv: ['sh', '-c', line],
        terminal: { columns: 80, rows: 24 },
      });
      const text = (): string => Buffer.concat(session.stdout).toString('utf8');
      await until(() => text().includes('ready'));
      for (let rows = 1; rows <= 30; rows++)
        session.send({ type: 'resize', size: { columns: 2 * rows, rows } });
      await session.closed;
      expect(text()).toContain('\r\n30 60\r\n');
    },
  );

  it('closes with 1001 when the sandbox is paused, and the program does not continue on resume', async () => {
    const session = open(worker, { argv: ['sh', '-c', 'echo $$; exec sleep 1000'] });
    await until(() => session.stdout.length > 0);
    const pid = Number(Buffer.concat(session.stdout).toString('utf8'));
    await worker.command('pause');
    expect(await session.closed).toBe(1001);
    await worker.command('resume');
    await until(() => !isAlive(pid));
  });
});
