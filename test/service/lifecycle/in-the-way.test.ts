import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareDataDir } from '../../../src/service/lifecycle/data-dir.ts';
import { ensureKey } from '../../../src/service/lifecycle/key.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { readPort } from '../../../src/service/lifecycle/port-file.ts';
import { selfIdentity, startOf } from '../../../src/service/lifecycle/process.ts';
import { readSmallFile } from '../../../src/service/lifecycle/small-file.ts';
import { runningService, serviceStatus } from '../../../src/service/lifecycle/status.ts';
import { stopService } from '../../../src/service/lifecycle/stop.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-in-the-way-'));
  writeFileSync(dataPaths(dir).database, '');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const names = ['database', 'key', 'lock', 'startLock', 'state', 'port', 'log'] as const;
const odd = {
  'a pipe': (file: string) => execFileSync('mkfifo', [file]),
  'a folder': (file: string) => mkdirSync(path.join(file, 'of mine'), { recursive: true }),
  'a link to nothing': (file: string) => symlinkSync('/nowhere/at/all', file),
  'a link to a device': (file: string) => symlinkSync('/dev/zero', file),
};

describe.each(names)('where the %s of a service should be', (name) => {
  it.each(Object.entries(odd))('%s is refused by name, and left as it is', (what, make) => {
    const file = dataPaths(dir)[name];
    rmSync(file, { force: true });
    make(file);
    expect(() => {
      prepareDataDir(dir);
    }).toThrow(
      expect.objectContaining({ code: 'data-dir', message: expect.stringContaining(`${file} is `) as string }),
    );
    // Reading it neither waits nor fails, and no service is taken for a running one.
    expect(readSmallFile(file)).toBeNull();
    expect(readPort(file)).toBe(0);
    expect(runningService(dir)).toBeNull();
    if (what === 'a folder') expect(existsSync(path.join(file, 'of mine'))).toBe(true);
  });
});

describe('where a folder of a service should be', () => {
  it.each(['workspaces', 'events', 'staging'] as const)('a file at %s is refused', (name) => {
    writeFileSync(dataPaths(dir)[name], 'mine');
    expect(() => {
      prepareDataDir(dir);
    }).toThrow(`${dataPaths(dir)[name]} is no directory`);
  });
});

describe('an invalid key', () => {
  it.each(['', 'short', 'with spaces in it, and long enough'])('%j is not replaced', (text) => {
    const { key } = dataPaths(dir);
    writeFileSync(key, text);
    expect(() => ensureKey(key)).toThrow(`${key} holds no key`);
    expect(readFileSync(key, 'utf8')).toBe(text);
  });
});

describe('a state file', () => {
  const good = { started_at: '', host: 'h', port: 1, url: 'http://127.0.0.1:1', version: '1', api: 'both' };

  /** A living process that is none of the service's. */
  async function bystander() {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    await once(child, 'spawn');
    return child;
  }

  it.each([
    ['nonsense', 'nonsense'],
    ['null', 'null'],
    ['members of wrong types', JSON.stringify({ ...good, pid: '1', process_start: [], port: 'x' })],
    ['an address elsewhere', JSON.stringify({ ...good, url: 'ftp://example.test' })],
    ['300 MiB', null],
  ])('with %s belongs to no service', async (_what, text) => {
    const { state, key } = dataPaths(dir);
    writeFileSync(key, 'k'.repeat(40));
    writeFileSync(state, text ?? Buffer.alloc(300 * 1024 * 1024));
    expect(serviceStatus(dir).running).toBe(false);
    expect(await stopService(dir)).toEqual({ stopped: false, pid: null });
  });

  it('that names a foreign process ends nothing, with or without a lock that names it too', async () => {
    const child = await bystander();
    const { state, lock, key } = dataPaths(dir);
    writeFileSync(key, 'k'.repeat(40));
    writeFileSync(state, JSON.stringify({ ...good, pid: child.pid, process_start: null }));
    for (const text of [null, { pid: child.pid, start: null }, { pid: child.pid, start: '1' }]) {
      if (text !== null) writeFileSync(lock, JSON.stringify(text));
      expect(runningService(dir)).toBeNull();
      if (selfIdentity().start !== null) expect(await stopService(dir)).toEqual({ stopped: false, pid: null });
    }
    expect(child.exitCode ?? child.signalCode).toBeNull();
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });

  it('that is damaged does not prevent stopping the service', async () => {
    const child = await bystander();
    const { state, lock } = dataPaths(dir);
    writeFileSync(lock, JSON.stringify({ pid: child.pid, start: startOf(child.pid ?? 0) }));
    writeFileSync(state, 'damaged');
    const ended = once(child, 'exit');
    expect(await stopService(dir)).toEqual({ stopped: true, pid: child.pid });
    await ended;
  });
});
