import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { selfIdentity } from '../../../src/service/lifecycle/process.ts';
import { readState, removeState, type ServiceState } from '../../../src/service/lifecycle/state-file.ts';
import { runningService, serviceStatus } from '../../../src/service/lifecycle/status.ts';
import { stopService } from '../../../src/service/lifecycle/stop.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

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
    const { state, key } = dataPaths(folder.path);
    writeFileSync(key, 'k'.repeat(40));
    writeFileSync(state, text ?? Buffer.alloc(300 * 1024 * 1024));
    expect(serviceStatus(folder.path).running).toBe(false);
    expect(await stopService(folder.path)).toEqual({ stopped: false, pid: null });
  });

  it('that names a foreign process ends nothing, with or without a lock that names it too', async () => {
    const child = await bystander();
    const { state, lock, key } = dataPaths(folder.path);
    writeFileSync(key, 'k'.repeat(40));
    writeFileSync(state, JSON.stringify({ ...good, pid: child.pid, process_start: null }));
    for (const text of [null, { pid: child.pid, start: null }, { pid: child.pid, start: '1' }]) {
      if (text !== null) writeFileSync(lock, JSON.stringify(text));
      expect(runningService(folder.path)).toBeNull();
      if (selfIdentity().start !== null) expect(await stopService(folder.path)).toEqual({ stopped: false, pid: null });
    }
    expect(child.exitCode ?? child.signalCode).toBeNull();
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
});

describe('the state that is read', () => {
  const least = {
    pid: 1,
    process_start: null,
    started_at: '',
    host: 'h',
    port: 1,
    url: 'http://127.0.0.1:1',
    version: '1',
    api: 'both',
  };
  const read = (members: object): ServiceState | null => {
    const { state } = dataPaths(folder.path);
    writeFileSync(state, JSON.stringify({ ...least, ...members }));
    return readState(state);
  };

  it('of an older version has neither scenario nor replay, and no known way of its start', () => {
    expect(read({})).toEqual({ ...least, scenario: null, replay: null, life: null, asked: {} });
  });

  it.each([
    { pid: 0 },
    { pid: 1.5 },
    { port: 65_536 },
    { url: 'https://127.0.0.1:1' },
    { api: 'v2' },
    { scenario: 5 },
    { version: null },
  ])('is refused with %j', (members) => {
    expect(read(members)).toBeNull();
  });

  it('leaves out each option that is not valid', () => {
    const asked = { host: 'h', port: '1', api: 'v2', spec: 'process', idleTimeoutMs: -1, scenario: [], replay: 'demo' };
    expect(read({ asked, life: 'elsewhere' })).toMatchObject({
      asked: { host: 'h', spec: 'process', replay: 'demo' },
      life: null,
    });
    expect(read({ asked })?.asked).toEqual({ host: 'h', spec: 'process', replay: 'demo' });
  });

  it('is removed by the service that wrote it, and by no other', () => {
    const { state } = dataPaths(folder.path);
    const mine = read({ pid: 7, process_start: '1' }) as ServiceState;
    removeState(state, { ...mine, process_start: '2' });
    expect(existsSync(state)).toBe(true);
    expect(readFileSync(state, 'utf8')).toContain('"pid":7');
    removeState(state, mine);
    expect(existsSync(state)).toBe(false);
    removeState(state, mine);
  });
});
