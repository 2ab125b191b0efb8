import path from 'node:path';
import {
  rmSync,
  writeFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, afterEach } from 'vitest';
import {
  ensureLocalService,
  runningService,
  startService,
  stopService,
  type ServiceOptions,
} from '../../../src/service/index.ts';
import { prepareDataDir, dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import { isHeld, takeLock } from '../../../src/base/lock.ts';
import { freeBlock } from '../../support/server.ts';
import { startedTask, trajectory, until, untilShown } from '../app/support.ts';
import { clientOf, servicesOfEachTest, NO_DATABASE } from './support.ts';
import { isAlive, startOf } from '../../../src/base/process.ts';

const services = servicesOfEachTest();

/** Options without a wish of the user but these. */
function only(version: string, more: Partial<ServiceOptions> = {}): ServiceOptions {
  const { dataDir, root, env } = services.options();
  return { dataDir, root, env, version, ...more };
}

function scenarioFile(): string {
  const file = path.join(services.dir, 'faults.json');
  writeFileSync(file, '[{"path":"/nothing","status":503}]');
  return file;
}

describe('a service in the background', () => {
  it('is shared by two first commands, found again, and stopped', async () => {
    const [one, two] = await Promise.all([
      ensureLocalService(services.options()),
      ensureLocalService(services.options()),
    ]);
    expect(one.pid).toBe(two.pid);
    expect([one.started, two.started].sort()).toEqual([false, true]);
    const again = await ensureLocalService(services.options());
    expect(again).toMatchObject({ pid: one.pid, started: false, key: one.key, notice: null });
    expect((await clientOf(again).call('GET', '/openapi.json')).status).toBe(200);
    expect(await stopService(services.dataDir)).toEqual({ stopped: true, pid: one.pid });
    expect(await stopService(services.dataDir)).toEqual({ stopped: false, pid: null });
  });

  it('is started when the one that uses the data directory, and does not listen any more, has ended', async () => {
    const { dataDir } = services;
    prepareDataDir(dataDir);
    const lock = takeLock(dataPaths(dataDir).lock);
    let isWaiting = true;
    const found = ensureLocalService(services.options()).finally(() => (isWaiting = false));
    found.catch(() => undefined);
    // Takes longer than the failure of a service that finds the lock.
    const elsewhere = path.join(services.dir, 'elsewhere');
    await ensureLocalService(services.options({ dataDir: elsewhere }));
    await stopService(elsewhere);
    expect(isWaiting).toBe(true);
    if (isHeld(lock)) lock.release();
    expect(await found).toMatchObject({ started: true });
  });

  it('of an older version is replaced when it is idle, and used with a notice when it is not', async () => {
    const old = await ensureLocalService(services.options());
    const replay_json = trajectory(`while [ ! -e ${services.dir}/go ]; do sleep 0.05; done`);
    const task = await startedTask(clientOf(old), { replay_json });
    await untilShown(clientOf(old), task.app_conversation_id ?? '', {
      execution_status: 'running',
    });
    const kept = await ensureLocalService(services.options({ version: '2.0.0' }));
    expect(kept).toMatchObject({
      pid: old.pid,
      started: false,
      notice: expect.stringContaining('1.0.0'),
    });
    writeFileSync(path.join(services.dir, 'go'), '');
    await untilShown(clientOf(old), task.app_conversation_id ?? '', {
      execution_status: 'finished',
    });
    const fresh = await ensureLocalService(services.options({ version: '2.0.0' }));
    expect(fresh).toMatchObject({ version: '2.0.0', started: true, notice: null });
    expect(fresh.pid).not.toBe(old.pid);
    const newer = await ensureLocalService(services.options({ version: '1.10.0' }));
    expect(newer).toMatchObject({ pid: fresh.pid, version: '2.0.0', started: false });
    expect(newer.notice).toContain('a newer service is used as it is');
  });
});

describe('an idle service of an older version', () => {
  it('is replaced by one with the same options', async () => {
    const scenario = scenarioFile();
    // The port it had before, and none that the system assigns to another process meanwhile.
    await (await startService(only('1.0.0'))).close();
    writeFileSync(path.join(services.dataDir, 'port'), `${await freeBlock()}\n`);
    const asked = {
      host: 'localhost',
      api: 'v0',
      spec: 'process',
      idleTimeoutMs: 7_200_000,
      scenario,
    } as const;
    const old = await ensureLocalService(only('1.0.0', asked));
    const fresh = await ensureLocalService(only('2.0.0'));
    expect(fresh).toMatchObject({ started: true, version: '2.0.0', notice: null, url: old.url });
    expect(fresh.pid).not.toBe(old.pid);
    expect(runningService(services.dataDir)?.state).toMatchObject({
      api: 'v0',
      host: 'localhost',
      scenario,
    });
    expect(runningService(services.dataDir)?.state.asked).toEqual(asked);
    const again = await ensureLocalService(only('3.0.0'));
    expect(again.started).toBe(true);
    expect(runningService(services.dataDir)?.state.asked).toEqual(asked);
  });

  it('with a given port keeps it, and options given now have precedence', async () => {
    const port = await freeBlock();
    await ensureLocalService(only('1.0.0', { port, api: 'v0', idleTimeoutMs: 0 }));
    const fresh = await ensureLocalService(only('2.0.0', { api: 'v1' }));
    expect(fresh).toMatchObject({ started: true, port });
    expect(runningService(services.dataDir)?.state.asked).toEqual({
      port,
      api: 'v1',
      idleTimeoutMs: 0,
    });
  });

  it('in the foreground is used, with a notice', async () => {
    const old = await startService(only('1.0.0', { idleTimeoutMs: 0 }));
    try {
      const found = await ensureLocalService(only('2.0.0'));
      expect(found).toMatchObject({
        url: old.url,
        started: false,
        notice: expect.stringContaining('foreground'),
      });
    } finally {
      await old.close();
    }
  });

  it('whose scenario can no longer be read is used, and the reason is reported', async () => {
    const scenario = scenarioFile();
    const old = await ensureLocalService(only('1.0.0', { scenario }));
    rmSync(scenario);
    const found = await ensureLocalService(only('2.0.0'));
    expect(found).toMatchObject({
      pid: old.pid,
      started: false,
      notice: expect.stringContaining(scenario),
    });
  });

  it('whose options are unknown is used, with a notice', async () => {
    const old = await ensureLocalService(only('1.0.0'));
    const file = path.join(services.dataDir, 'service.json');
    const { life: _life, asked: _asked, ...state } = runningService(services.dataDir)?.state ?? {};
    writeFileSync(file, JSON.stringify(state));
    const found = await ensureLocalService(only('2.0.0'));
    expect(found).toMatchObject({
      pid: old.pid,
      started: false,
      notice: expect.stringContaining('serve --stop'),
    });
  });
});

describe('the files of a start', () => {
  it('are refused before anything is started, also when a service runs', async () => {
    const scenario = path.join(services.dir, 'faults.json');
    await expect(ensureLocalService(only('1.0.0', { scenario }))).rejects.toMatchObject({
      code: 'scenario',
    });
    expect(runningService(services.dataDir)).toBeNull();
    const replay = path.join(services.dir, 'replay.json');
    writeFileSync(replay, '{}');
    await services.start();
    await expect(ensureLocalService(only('1.0.0', { replay }))).rejects.toMatchObject({
      code: 'replay',
    });
  });
});

describe('a start that waits for another one', () => {
  it('ends with the reason of its signal', async () => {
    prepareDataDir(services.dataDir);
    takeLock(dataPaths(services.dataDir).startLock);
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(ensureLocalService({ ...only('1.0.0'), signal })).rejects.toThrow('given up');
    expect(runningService(services.dataDir)).toBeNull();
  });
});

/** A package whose service is this script. */
function packageWith(script: string): string {
  const root = path.join(services.dir, 'package');
  mkdirSync(path.join(root, 'dist'), { recursive: true });
  writeFileSync(path.join(root, 'dist', 'service.js'), script);
  return root;
}

describe('a background process that does not become a service', () => {
  it.each([
    ['ends without a reason', 'process.exit(7)', 'it ended with exit code 7'],
    ['is killed', "process.kill(process.pid, 'SIGKILL')", 'it ended by signal SIGKILL'],
  ])('and %s is reported with its log', async (_what, script, why) => {
    const { log } = dataPaths(services.dataDir);
    await expect(
      ensureLocalService(services.options({ root: packageWith(script) })),
    ).rejects.toMatchObject({
      code: 'start-failed',
      message: `the local service did not start: ${why}`,
      hint: `See ${log}.`,
    });
  });

  it('and writes a reason is reported with it, not with one of an earlier start; a real one writes its reason', async () => {
    const fail = (message: string): string =>
      packageWith(
        `console.log('x acs-service-failure: ' + ` +
          `'{"code":"listen","message":"${message}"}'); process.exit(1)`,
      );
    for (const message of ['the first', 'the second']) {
      const starting = ensureLocalService(services.options({ root: fail(message) }));
      await expect(starting).rejects.toMatchObject({ code: 'listen', message });
    }
    writeFileSync(path.join(services.dataDir, 'service.db'), NO_DATABASE);
    await expect(ensureLocalService(services.options())).rejects.toMatchObject({
      code: 'data-dir',
    });
  });

  it('is killed when the caller gives up, with the reason of the signal', async () => {
    const file = path.join(services.dir, 'pid');
    const root = packageWith(
      `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); ` +
        'setInterval(() => {}, 1000);',
    );
    const gaveUp = new AbortController();
    const starting = ensureLocalService({ ...services.options({ root }), signal: gaveUp.signal });
    const caught = expect(starting).rejects.toThrow('given up');
    const pid = await until(
      () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0),
      (each) => each > 0,
    );
    gaveUp.abort(new Error('given up'));
    await caught;
    await until(() => !isAlive({ pid, start: null }));
  });
});

describe('the log of a background service', () => {
  it('is private, and a large one is put aside', async () => {
    const { log } = dataPaths(services.dataDir);
    prepareDataDir(services.dataDir);
    writeFileSync(log, 'of before');
    truncateSync(log, 5 * 1024 * 1024 + 1);
    const start = () =>
      ensureLocalService(
        services.options({ root: packageWith("console.log('a line'); process.exit(1)") }),
      );
    await expect(start()).rejects.toThrow();
    await expect(start()).rejects.toThrow();
    expect(readFileSync(log, 'utf8')).toBe('a line\na line\n');
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${log}.old`).subarray(0, 9).toString()).toBe('of before');
    expect(runningService(services.dataDir)).toBeNull();
  });
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that holds the lock of the data directory, as a service does. */
async function owner(command: string[]): Promise<ChildProcess> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  await once(child, 'spawn');
  mkdirSync(services.dataDir, { mode: 0o700 });
  const { lock } = dataPaths(services.dataDir);
  writeFileSync(lock, JSON.stringify({ pid: child.pid, start: startOf(child.pid ?? 0) }));
  return child;
}

it('a service with a damaged state file is stopped by its lock', async () => {
  const child = await owner(['sleep', '600']);
  writeFileSync(dataPaths(services.dataDir).state, 'damaged');
  const ended = once(child, 'exit');
  expect(await stopService(services.dataDir)).toEqual({ stopped: true, pid: child.pid });
  await ended;
});

it('a service that ignores the signal is left alone once the caller gives up', async () => {
  const child = await owner(['sh', '-c', "trap '' TERM; echo ready; exec sleep 600"]);
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  const signal = AbortSignal.abort(new Error('given up'));
  await expect(stopService(services.dataDir, signal)).rejects.toThrow('given up');
  expect(child.exitCode ?? child.signalCode).toBeNull();
});
