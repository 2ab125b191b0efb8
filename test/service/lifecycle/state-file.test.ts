import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { askActivity, runningService, stopService } from '../../../src/service/index.ts';
import { prepareDataDir, dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import { readState, type ServiceState } from '../../../src/service/lifecycle/state-file.ts';
import { startFake, type Reply } from '../../support/server.ts';
import { clientOf, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();

const STATE = {
  pid: 1,
  process_start: null,
  started_at: '',
  host: 'h',
  port: 1,
  url: 'http://127.0.0.1:1',
  version: '1',
  api: 'both',
};

function read(text: string): ServiceState | null {
  prepareDataDir(services.dataDir);
  const { state } = dataPaths(services.dataDir);
  writeFileSync(state, text);
  return readState(state);
}

it('a state file of an older version has neither scenario nor replay, and no known way of its start', () => {
  expect(read(JSON.stringify(STATE))).toEqual({
    ...STATE,
    scenario: null,
    replay: null,
    life: null,
    asked: {},
  });
});

it.each([
  'nonsense',
  'null',
  ...[
    { pid: '1' },
    { pid: 0 },
    { pid: 1.5 },
    { port: null },
    { version: null },
    { asked: 'text' },
  ].map((wrong) => JSON.stringify({ ...STATE, ...wrong })),
  JSON.stringify({ ...STATE, url: 'https://127.0.0.1:1' }),
])('a state file with %s is none', (text) => {
  expect(read(text)).toBeNull();
});

it('a state file that names a foreign process ends nothing, with or without a lock that names it too', async () => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const { lock, key } = dataPaths(services.dataDir);
  read(JSON.stringify({ ...STATE, pid: child.pid }));
  writeFileSync(key, 'k'.repeat(40));
  for (const text of [null, { pid: child.pid, start: null }, { pid: child.pid, start: '1' }]) {
    if (text !== null) writeFileSync(lock, JSON.stringify(text));
    expect(runningService(services.dataDir)).toBeNull();
    expect(await stopService(services.dataDir)).toEqual({ stopped: false, pid: null });
  }
  expect(child.exitCode ?? child.signalCode).toBeNull();
  child.kill('SIGKILL');
});

it('a service is found with its key, and not by a client that cannot read the key', async () => {
  const { url, key } = await services.start();
  expect(runningService(services.dataDir)).toMatchObject({
    key,
    state: { url, life: 'foreground' },
  });
  writeFileSync(dataPaths(services.dataDir).key, 'short');
  expect(runningService(services.dataDir)).toBeNull();
});

const ACTIVITY = {
  running: false,
  conversations_running: 0,
  sandboxes_running: 0,
  unknown_workspaces: [],
};
const ask = (url: string, key = 'key') => askActivity({ state: { url } as ServiceState, key });

it('a service reports what runs in it to who has its key', async () => {
  const { url, key } = await services.start();
  expect(await ask(url, key)).toEqual(ACTIVITY);
  expect(await ask(url, 'another')).toBeNull();
  await clientOf({ url, key }).call('POST', '/api/v1/sandboxes');
  expect(await ask(url, key)).toEqual({ ...ACTIVITY, sandboxes_running: 1 });
});

it.each<Reply>([
  { status: 500, json: ACTIVITY },
  { text: '<html>', type: 'text/html' },
  { cut: true },
])('a server that answers %j has no known activity', async (reply) => {
  const server = await startFake(() => reply);
  expect(await ask(server.url)).toBeNull();
  await server.close();
});
