import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { selfIdentity } from '../../../src/service/lifecycle/process.ts';
import { runningService, serviceStatus } from '../../../src/service/lifecycle/status.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const KEY = 'k'.repeat(40);

/** The files of a service that this process would be. */
function filesOfService(asked: object = {}): void {
  const { state, lock, key } = dataPaths(folder.path);
  const { pid, start } = selfIdentity();
  const place = { host: '::', port: 1234, url: 'http://[::1]:1234', version: '1.0.0', api: 'v1', life: 'background' };
  writeFileSync(state, JSON.stringify({ ...place, pid, process_start: start, started_at: 'then', asked }));
  writeFileSync(lock, JSON.stringify(selfIdentity()));
  writeFileSync(key, KEY);
}

describe('the status of a service', () => {
  it('has its address and its options, and neither its key nor how its process is recognised', () => {
    filesOfService({ idleTimeoutMs: 5000, spec: 'process' });
    expect(serviceStatus(folder.path)).toEqual({
      running: true,
      pid: process.pid,
      data_dir: folder.path,
      log: dataPaths(folder.path).log,
      started_at: 'then',
      host: '::',
      port: 1234,
      url: 'http://[::1]:1234',
      version: '1.0.0',
      api: 'v1',
      life: 'background',
      scenario: null,
      replay: null,
      idle_timeout_ms: 5000,
      spec: 'process',
    });
    filesOfService();
    expect(serviceStatus(folder.path)).toMatchObject({ idle_timeout_ms: 30 * 60_000, spec: null });
  });

  it('of an unknown directory is that none runs', () => {
    expect(serviceStatus('/no/such/folder')).toEqual({
      running: false,
      data_dir: '/no/such/folder',
      log: '/no/such/folder/service.log',
    });
  });
});

describe('the service of a directory', () => {
  it('has a key, and none runs for a client that cannot read the key', () => {
    filesOfService();
    expect(runningService(folder.path)).toMatchObject({ key: KEY, state: { port: 1234 } });
    writeFileSync(dataPaths(folder.path).key, 'short');
    expect(runningService(folder.path)).toBeNull();
  });
});
