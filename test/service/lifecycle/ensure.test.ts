import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  checkReplay,
  checkScenario,
  ensureLocalService,
  runningService,
  serviceStatus,
  startService,
  stopService,
  type ServiceOptions,
} from '../../../src/service/index.ts';
import { selfIdentity } from '../../../src/service/lifecycle/process.ts';
import { prepareDataDir } from '../../../src/service/lifecycle/data-dir.ts';
import { takeLock } from '../../../src/service/lifecycle/lock.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { freeBlock } from '../../support/ports.ts';
import { conversation, startedTask, until } from '../app/support.ts';
import { clientOf, servicesOfEachTest } from './support.ts';

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

  it('of an older version is replaced when it is idle, and used with a notice when it is not', async () => {
    const old = await ensureLocalService(services.options());
    const busy = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Wait' } },
      { source: 'agent', action: 'run', args: { command: `while [ ! -e ${services.dir}/go ]; do sleep 0.05; done` } },
      { source: 'agent', action: 'finish', args: {} },
    ]);
    const task = await startedTask(clientOf(old), { replay_json: busy });
    await until(
      () => conversation(clientOf(old), task.app_conversation_id ?? ''),
      (each) => each?.execution_status === 'running',
    );
    const kept = await ensureLocalService(services.options({ version: '2.0.0' }));
    expect(kept).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining('1.0.0') });
    writeFileSync(path.join(services.dir, 'go'), '');
    await until(
      () => conversation(clientOf(old), task.app_conversation_id ?? ''),
      (each) => each?.execution_status === 'finished',
    );
    const fresh = await ensureLocalService(services.options({ version: '2.0.0' }));
    expect(fresh).toMatchObject({ version: '2.0.0', started: true, notice: null });
    expect(fresh.pid).not.toBe(old.pid);
    const newer = await ensureLocalService(services.options({ version: '1.10.0' }));
    expect(newer, 'a newer one is left alone').toMatchObject({ pid: fresh.pid, version: '2.0.0', started: false });
    expect(newer.notice).toContain('newer than this acs (1.10.0)');
  });
});

describe('an idle service of an older version', () => {
  it('is replaced by one with the same options', async () => {
    const scenario = scenarioFile();
    // The port it had before, and none that the system assigns to another process meanwhile.
    await (await startService(only('1.0.0'))).close();
    writeFileSync(path.join(services.dataDir, 'port'), `${await freeBlock()}\n`);
    const asked = { host: 'localhost', api: 'v0', spec: 'process', idleTimeoutMs: 7_200_000, scenario } as const;
    const old = await ensureLocalService(only('1.0.0', asked));
    const fresh = await ensureLocalService(only('2.0.0'));
    expect(fresh).toMatchObject({ started: true, version: '2.0.0', notice: null, url: old.url });
    expect(fresh.pid).not.toBe(old.pid);
    expect(serviceStatus(services.dataDir)).toMatchObject({ api: 'v0', host: 'localhost', scenario });
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
    expect(runningService(services.dataDir)?.state.asked).toEqual({ port, api: 'v1', idleTimeoutMs: 0 });
  });

  it('in the foreground is used, with a notice', async () => {
    const old = await startService(only('1.0.0', { idleTimeoutMs: 0 }));
    try {
      const found = await ensureLocalService(only('2.0.0'));
      expect(found).toMatchObject({ url: old.url, started: false, notice: expect.stringContaining('foreground') });
    } finally {
      await old.close();
    }
  });

  it('whose scenario can no longer be read is used, and the reason is reported', async () => {
    const scenario = scenarioFile();
    const old = await ensureLocalService(only('1.0.0', { scenario }));
    rmSync(scenario);
    const found = await ensureLocalService(only('2.0.0'));
    expect(found).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining(scenario) });
  });

  it('whose options are unknown is used, with a notice', async () => {
    const old = await ensureLocalService(only('1.0.0'));
    const file = path.join(services.dataDir, 'service.json');
    const { life: _life, asked: _asked, ...state } = runningService(services.dataDir)?.state ?? {};
    writeFileSync(file, JSON.stringify(state));
    const found = await ensureLocalService(only('2.0.0'));
    expect(found).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining('serve --stop') });
  });
});

describe('the files of a start', () => {
  it('are refused before anything is started, also when a service runs', async () => {
    const scenario = path.join(services.dir, 'faults.json');
    await expect(ensureLocalService(only('1.0.0', { scenario }))).rejects.toMatchObject({ code: 'scenario' });
    expect(serviceStatus(services.dataDir).running).toBe(false);
    const replay = path.join(services.dir, 'replay.json');
    writeFileSync(replay, '{}');
    await services.start();
    await expect(ensureLocalService(only('1.0.0', { replay }))).rejects.toMatchObject({ code: 'replay' });
    await expect(checkReplay(replay)).rejects.toMatchObject({ code: 'replay' });
    await checkReplay('demo');
    expect(await checkScenario(scenarioFile())).toBe(1);
  });
});

describe('a start that waits for another one', () => {
  it('ends with the reason of its signal', async () => {
    prepareDataDir(services.dataDir);
    takeLock(dataPaths(services.dataDir).startLock, selfIdentity());
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(ensureLocalService({ ...only('1.0.0'), signal })).rejects.toThrow('given up');
    expect(serviceStatus(services.dataDir).running).toBe(false);
  });
});
