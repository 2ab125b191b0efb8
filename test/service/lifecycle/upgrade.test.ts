import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ensureLocalService,
  runningService,
  serviceStatus,
  startService,
  stopService,
  type ServiceOptions,
} from '../../../src/service/index.ts';
import { freeBlock } from '../../support/ports.ts';
import { PACKAGE_ROOT } from '../app/support.ts';

let dir: string;
let dataDir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-upgrade-'));
  dataDir = path.join(dir, 'data');
});
afterEach(async () => {
  if (serviceStatus(dataDir).running) await stopService(dataDir);
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

const options = (version: string, more: Partial<ServiceOptions> = {}): ServiceOptions => ({
  dataDir,
  root: PACKAGE_ROOT,
  version,
  env: { PATH: process.env.PATH, HOME: dir },
  ...more,
});

function scenarioFile(): string {
  const file = path.join(dir, 'faults.json');
  writeFileSync(file, '[{"path":"/nothing","status":503}]');
  return file;
}

describe('an idle service of an older version', () => {
  it('is replaced by one with the same options', async () => {
    const scenario = scenarioFile();
    // The port it had before, and none that the system gives to somebody else meanwhile.
    await (await startService(options('1.0.0'))).close();
    writeFileSync(path.join(dataDir, 'port'), `${await freeBlock()}\n`);
    const asked = { host: 'localhost', api: 'v0', spec: 'process', idleTimeoutMs: 7_200_000, scenario } as const;
    const old = await ensureLocalService(options('1.0.0', asked));
    const fresh = await ensureLocalService(options('2.0.0'));
    expect(fresh).toMatchObject({ started: true, version: '2.0.0', notice: null, url: old.url });
    expect(fresh.pid).not.toBe(old.pid);
    expect(serviceStatus(dataDir)).toMatchObject({ api: 'v0', host: 'localhost', scenario });
    expect(runningService(dataDir)?.state.asked).toEqual(asked);
    const again = await ensureLocalService(options('3.0.0'));
    expect(again.started).toBe(true);
    expect(runningService(dataDir)?.state.asked).toEqual(asked);
  });

  it('with a given port keeps it, and options given now have precedence', async () => {
    const port = await freeBlock();
    await ensureLocalService(options('1.0.0', { port, api: 'v0', idleTimeoutMs: 0 }));
    const fresh = await ensureLocalService(options('2.0.0', { api: 'v1' }));
    expect(fresh).toMatchObject({ started: true, port });
    expect(runningService(dataDir)?.state.asked).toEqual({ port, api: 'v1', idleTimeoutMs: 0 });
  });

  it('in the foreground is used, with a notice', async () => {
    const old = await startService(options('1.0.0', { idleTimeoutMs: 0 }));
    try {
      const found = await ensureLocalService(options('2.0.0'));
      expect(found).toMatchObject({ url: old.url, started: false, notice: expect.stringContaining('foreground') });
    } finally {
      await old.close();
    }
  });

  it('whose scenario can no longer be read is used, and the reason is reported', async () => {
    const scenario = scenarioFile();
    const old = await ensureLocalService(options('1.0.0', { scenario }));
    rmSync(scenario);
    const found = await ensureLocalService(options('2.0.0'));
    expect(found).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining(scenario) });
  });

  it('whose options are unknown is used, with a notice', async () => {
    const old = await ensureLocalService(options('1.0.0'));
    const file = path.join(dataDir, 'service.json');
    const { life: _life, asked: _asked, ...state } = runningService(dataDir)?.state ?? {};
    writeFileSync(file, JSON.stringify(state));
    const found = await ensureLocalService(options('2.0.0'));
    expect(found).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining('serve --stop') });
  });
});
