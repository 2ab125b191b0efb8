import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerProcess } from '../../../src/service/sandboxes/worker-process.ts';
import type { WorkerNotice } from '../../../src/service/base/worker-protocol.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';
import { until } from '../../support/test-clock.ts';
import { DEFAULT_CONFIG } from '../agent-server/support/worker.ts';

const folder = folderOfEachTest();
let worker: WorkerProcess;
let notices: WorkerNotice[];
let lines: string[];
let ends: string[];
beforeEach(() => {
  mkdirSync(path.join(folder.path, 'dist'));
  [notices, lines, ends] = [[], [], []];
});
afterEach(async () => {
  worker.kill();
  await worker.ended;
});

/**
 * A worker that executes this program: `next(line)` gets each line of its stdin, and `say(value)`
 * sends a notice.
 */
function start(program: string, env: Record<string, string> = {}): WorkerProcess {
  const prelude = `
    const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
    let next = () => undefined;
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => next(JSON.parse(line)));`;
  writeFileSync(path.join(folder.path, 'dist', 'worker.js'), `${prelude}\n${program}`);
  const config = {
    ...DEFAULT_CONFIG,
    sandbox_id: 's',
    session_api_key: 'key',
    spec: 'process',
    workspace_dir: folder.path,
    events_dir: folder.path,
    database: path.join(folder.path, 'service.db'),
    root: folder.path,
  } as const;
  worker = new WorkerProcess(
    config,
    { PATH: process.env['PATH'], ...env },
    {
      onNotice: (notice) => notices.push(notice),
      onEnd: (text) => ends.push(text),
      log: (line) => lines.push(line),
    },
  );
  return worker;
}

const READY = `say({ type: 'ready', port: 7, working_dir: '/w', spec: 'process' });`;

it('a worker starts no program of its workspace, whatever PATH and NODE_OPTIONS name', async () => {
  const ran = path.join(folder.path, 'ran');
  writeFileSync(path.join(folder.path, 'setpriv'), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  writeFileSync(
    path.join(folder.path, 'hook.js'),
    `require('node:fs').writeFileSync('${ran}', '')`,
  );
  const options = { PATH: `.:${process.env['PATH'] ?? ''}`, NODE_OPTIONS: '-r ./hook.js' };
  await start(READY, options).ready.catch(() => undefined);
  expect(existsSync(ran)).toBe(false);
});

it('a worker gets its configuration as its first line, and no key of a server in its environment', async () => {
  const program =
    `next = (config) => { require('node:fs').writeFileSync(config.workspace_dir + '/got', ` +
    `JSON.stringify({ config, env: process.env })); ${READY} };`;
  await start(program, { ACS_API_KEY: 'hush', OPENHANDS_API_KEY: 'hush', KEPT: 'yes' }).ready;
  const { config, env } = JSON.parse(readFileSync(path.join(folder.path, 'got'), 'utf8')) as Record<
    string,
    object
  >;
  expect(config).toMatchObject({ sandbox_id: 's', session_api_key: 'key' });
  expect(env).toMatchObject({ KEPT: 'yes' });
  expect(Object.keys(env ?? {}).filter((name) => /^(?:ACS|OPENHANDS)_/.test(name))).toEqual([]);
  expect(notices).toMatchObject([{ type: 'ready', port: 7 }]);
});

it('each answer goes to its command, and every other notice to the service', async () => {
  const program = `
    let asked = [];
    next = (line) => {
      if (line.type === undefined) return;
      asked.push(line);
      if (asked.length < 2) return;
      say({ type: 'subscribers', count: 3 });
      for (const { type, request } of asked.reverse()) say({ type: type + 'd', request });
    };
    ${READY}`;
  start(program);
  const [paused, resumed] = await Promise.all([
    worker.ask('pause', 60_000),
    worker.ask('resume', 60_000),
  ]);
  expect([paused.type, resumed.type]).toEqual(['paused', 'resumed']);
  expect(worker.subscribers).toBe(3);
  expect(notices.map(({ type }) => type)).toEqual(['ready', 'subscribers']);
});

it('a command that is not answered is rejected after its time', async () => {
  await start(READY).ready;
  await expect(worker.ask('pause', 50)).rejects.toThrow(
    'the worker did not answer to "pause" within 0.05 s',
  );
});

it.each(['not JSON', '5', 'null', '[]', '{"count":1}'])(
  'the line %j, which is no notice, is logged',
  async (line) => {
    await start(`process.stdout.write(${JSON.stringify(`${line}\n`)}); ${READY}`).ready;
    expect(lines).toEqual([`a worker printed a line that is not a notice: ${line}`]);
    expect(notices.map(({ type }) => type)).toEqual(['ready']);
  },
);

it('lines on stderr are logged with the sandbox, at most 2000 characters of each', async () => {
  await start(`process.stderr.write('x'.repeat(3000) + '\\n', () => { ${READY} });`).ready;
  await until(() => lines.length === 1);
  expect(lines).toEqual([`worker s: ${'x'.repeat(2000)}`]);
});

it.each([
  [
    'reports why',
    `say({ type: 'failed', text: 'no bubblewrap' }); process.exitCode = 1;`,
    'no bubblewrap',
  ],
  ['exits', `process.exit(3);`, 'the worker ended unexpectedly (exit code 3)'],
  [
    'is killed',
    `process.kill(process.pid, 'SIGKILL');`,
    'the worker ended unexpectedly (signal SIGKILL)',
  ],
])(
  'a worker that %s before it is ready rejects the start and its commands with the reason',
  async (_, program, why) => {
    start(`${program} process.stdin.destroy();`);
    await expect(Promise.all([worker.ready, worker.ask('pause', 60_000)])).rejects.toThrow(why);
    await worker.ended;
    expect(ends).toEqual([why]);
  },
);

it('a worker that does not obey a stop is killed', async () => {
  await start(
    `next = ({ type, request }) => type === 'stop' && say({ type: 'stopped', request }); ${READY}`,
  ).ready;
  await worker.stop();
  expect(ends).toEqual(['the worker ended unexpectedly (signal SIGKILL)']);
});
