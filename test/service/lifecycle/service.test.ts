import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import WebSocket from 'ws';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ensureLocalService,
  runningService,
  serviceStatus,
  startService,
  stopService,
  type RunningService,
  type ServiceOptions,
} from '../../../src/service/index.ts';
import { isAlive, startOf } from '../../../src/service/lifecycle/process.ts';
import { openStore } from '../../../src/service/storage/index.ts';
import { freeBlock } from '../../support/ports.ts';
import { conversation, countEvents, PACKAGE_ROOT, startedTask, until, type Answer } from '../app/support.ts';

let dir: string;
let dataDir: string;
const running: RunningService[] = [];

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-service-'));
  dataDir = path.join(dir, 'data');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
  // A service in this very process is ended above; here are those in the background.
  if (serviceStatus(dataDir).running && runningService(dataDir)?.state.pid !== process.pid) await stopService(dataDir);
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

const options = (more: Partial<ServiceOptions> = {}): ServiceOptions => ({
  dataDir,
  root: PACKAGE_ROOT,
  version: '1.0.0',
  env: { PATH: process.env.PATH, HOME: dir },
  spec: 'process',
  idleTimeoutMs: 0,
  ...more,
});

async function start(more: Partial<ServiceOptions> = {}): Promise<RunningService> {
  const service = await startService(options(more));
  running.push(service);
  return service;
}

/** Requests over HTTP to a service that runs. */
function clientOf({ url, key }: { url: string; key: string }) {
  const call = (method: string, target: string, body?: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { 'X-Session-API-Key': key, 'Content-Type': 'application/json' };
      const request = http.request(url + target, { method, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          resolve({ status: answer.statusCode ?? 0, headers: new Headers(), body: JSON.parse(text) as unknown });
        });
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { call };
}

describe('a service', () => {
  it('keeps its files private, reports where it listens, and leaves no file behind', async () => {
    const service = await start();
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(dataDir, 'key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(path.join(dataDir, 'key'), 'utf8').trim()).toBe(service.key);
    expect(serviceStatus(dataDir)).toMatchObject({
      running: true,
      pid: process.pid,
      port: service.port,
      version: '1.0.0',
      api: 'both',
    });
    const task = await startedTask(clientOf(service), { replay_json: 'demo' });
    expect(task.status).toBe('READY');
    await service.close();
    expect(await service.ended).toBe('asked to');
    expect(serviceStatus(dataDir)).toMatchObject({ running: false });
    expect(readdirSync(dataDir)).not.toContain('service.lock');
    expect(readdirSync(dataDir)).not.toContain('service.json');
  });

  it('owns its data directory: a second one is refused with the pid of the first', async () => {
    await start();
    await expect(startService(options())).rejects.toMatchObject({
      name: 'ServiceError',
      code: 'locked',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
  });

  it('cannot start on a port in use, and then releases lock and files', async () => {
    const other = http.createServer().listen(0, '127.0.0.1');
    await until(
      () => other.listening,
      (is) => is,
    );
    const { port } = other.address() as { port: number };
    await expect(startService(options({ port }))).rejects.toMatchObject({
      code: 'listen',
      message: expect.stringContaining(String(port)),
    });
    other.close();
    await start({ port: 0 });
  });

  it('listens on its previous port, and on another one when that is in use', async () => {
    const first = await start();
    await first.close();
    const kept = path.join(dataDir, 'port');
    expect(readFileSync(kept, 'utf8')).toBe(`${first.port}\n`);
    // One that the system does not give to somebody else meanwhile.
    const port = await freeBlock();
    writeFileSync(kept, `${port}\n`);
    const second = await start();
    expect(second.port).toBe(port);
    await second.close();
    const other = http.createServer().listen(port, '127.0.0.1');
    await until(
      () => other.listening,
      (is) => is,
    );
    try {
      expect((await start()).port).not.toBe(port);
    } finally {
      other.close();
    }
  });

  it('reports that it cannot use its data directory', async () => {
    writeFileSync(path.join(dir, 'file'), 'not a directory');
    await expect(startService(options({ dataDir: path.join(dir, 'file') }))).rejects.toMatchObject({
      code: 'data-dir',
    });
    await (await start()).close();
    writeFileSync(
      path.join(dataDir, 'service.db'),
      'this is no database, but it is long enough to be read as one'.repeat(50),
    );
    await expect(startService(options())).rejects.toMatchObject({
      code: 'data-dir',
      message: expect.stringContaining(path.join(dataDir, 'service.db')),
      hint: expect.stringMatching(/^Move .+ away/),
    });
  });

  it('ends after the idle timeout', async () => {
    const service = await start({ idleTimeoutMs: 50 });
    expect(await service.ended).toContain('nobody');
    expect(serviceStatus(dataDir).running).toBe(false);
  });

  it('does not end while a client follows over the web socket of a sandbox', async () => {
    // Longer than a busy machine may need between one request and the next.
    const idleTimeoutMs = 4_000;
    const service = await start({ idleTimeoutMs });
    const client = clientOf(service);
    const task = await startedTask(client, { replay_json: 'demo' });
    const shown = await conversation(client, task.app_conversation_id ?? '');
    const follower = new WebSocket(
      `ws://${String(shown?.conversation_url).replace(/^http:\/\/([^/]+).*$/, '$1')}/sockets/events/${shown?.id ?? ''}`,
      { headers: { 'X-Session-API-Key': String(shown?.session_api_key) } },
    );
    let isOver = false;
    void service.ended.then(() => (isOver = true));
    await until(
      () => follower.readyState,
      (state) => state === follower.OPEN,
    );
    // Longer than its idle time; a request would keep it awake.
    const begun = performance.now();
    await until(
      () => performance.now() - begun,
      (passed) => passed > 1.5 * idleTimeoutMs,
    );
    expect(isOver).toBe(false);
    follower.terminate();
    expect(await service.ended).toContain('nobody');
  });

  it('serves settings, conversations, events and a workspace to resume after a restart', async () => {
    const first = await start();
    const client = clientOf(first);
    await client.call('POST', '/api/settings', { language: 'de' });
    const task = await startedTask(client, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await until(
      () => conversation(client, id),
      (each) => each?.execution_status === 'finished',
    );
    const count = await countEvents(client, id);
    await first.close();
    const second = clientOf(await start());
    expect((await second.call('GET', '/api/settings')).body).toMatchObject({ language: 'de' });
    expect(await conversation(second, id)).toMatchObject({ sandbox_status: 'PAUSED', execution_status: 'finished' });
    expect(await countEvents(second, id)).toBe(count);
    await second.call('POST', `/api/v1/sandboxes/${task.sandbox_id}/resume`);
    await until(
      () => conversation(second, id),
      (each) => each?.sandbox_status === 'RUNNING',
    );
    const file = await second.call('GET', `/api/v1/app-conversations/${id}/file?file_path=acs-demo.sh`);
    expect(file.body).toContain('#!/bin/sh');
  });
});

describe('a service in the background', () => {
  it('is shared by two first commands, found again, and stopped', async () => {
    const [one, two] = await Promise.all([ensureLocalService(options()), ensureLocalService(options())]);
    expect(one.pid).toBe(two.pid);
    expect([one.started, two.started].sort()).toEqual([false, true]);
    const again = await ensureLocalService(options());
    expect(again).toMatchObject({ pid: one.pid, started: false, key: one.key, notice: null });
    expect((await clientOf(again).call('GET', '/openapi.json')).status).toBe(200);
    expect(await stopService(dataDir)).toEqual({ stopped: true, pid: one.pid });
    expect(await stopService(dataDir)).toEqual({ stopped: false, pid: null });
  });

  it('reports why it cannot start', async () => {
    await (await start()).close();
    writeFileSync(
      path.join(dataDir, 'service.db'),
      'this is no database, but it is long enough to be read as one'.repeat(50),
    );
    await expect(ensureLocalService(options())).rejects.toMatchObject({ name: 'ServiceError', code: 'data-dir' });
  });

  it('of an older version is replaced when it is idle, and used with a notice when it is not', async () => {
    const old = await ensureLocalService(options());
    const busy = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Wait' } },
      { source: 'agent', action: 'run', args: { command: `while [ ! -e ${dir}/go ]; do sleep 0.05; done` } },
      { source: 'agent', action: 'finish', args: {} },
    ]);
    const task = await startedTask(clientOf(old), { replay_json: busy });
    await until(
      () => conversation(clientOf(old), task.app_conversation_id ?? ''),
      (each) => each?.execution_status === 'running',
    );
    const kept = await ensureLocalService(options({ version: '2.0.0' }));
    expect(kept).toMatchObject({ pid: old.pid, started: false, notice: expect.stringContaining('1.0.0') });
    writeFileSync(path.join(dir, 'go'), '');
    await until(
      () => conversation(clientOf(old), task.app_conversation_id ?? ''),
      (each) => each?.execution_status === 'finished',
    );
    const fresh = await ensureLocalService(options({ version: '2.0.0' }));
    expect(fresh).toMatchObject({ version: '2.0.0', started: true, notice: null });
    expect(fresh.pid).not.toBe(old.pid);
    const newer = await ensureLocalService(options({ version: '1.10.0' }));
    expect(newer, 'a newer one is left alone').toMatchObject({ pid: fresh.pid, version: '2.0.0', started: false });
    expect(newer.notice).toContain('newer than this acs (1.10.0)');
  });

  it('that is killed loses no acknowledged change, leaves no process, and its starts end in error', async () => {
    const first = await ensureLocalService(options());
    const client = clientOf(first);
    await client.call('POST', '/api/settings', { language: 'de' });
    const endless = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Wait' } },
      { source: 'agent', action: 'run', args: { command: 'sleep 4321' } },
      { source: 'agent', action: 'finish', args: {} },
    ]);
    const task = await startedTask(client, { replay_json: endless });
    const id = task.app_conversation_id ?? '';
    const runs = (count: unknown): boolean => Number(count) > 0;
    const count = () => countEvents(client, id, '&kind__eq=ActionEvent');
    await until(count, runs);
    const before = await countEvents(client, id);
    const late = (await client.call('POST', '/api/v1/app-conversations', { replay_json: 'demo' })).body as {
      id: string;
    };
    process.kill(first.pid, 'SIGKILL');
    await until(
      () => isAlive({ pid: first.pid, start: null }) && startOf(first.pid) !== 'zombie',
      (lives) => !lives,
    );
    const second = await ensureLocalService(options());
    expect(second.started).toBe(true);
    const after = clientOf(second);
    expect((await after.call('GET', '/api/settings')).body).toMatchObject({ language: 'de' });
    const [lateTask] = (await after.call('GET', `/api/v1/app-conversations/start-tasks?ids=${late.id}`)).body as {
      status: string;
      detail: string | null;
    }[];
    expect(['READY', 'ERROR']).toContain(lateTask?.status);
    if (lateTask?.status === 'ERROR') expect(lateTask.detail).toContain('stopped');
    expect(await conversation(after, id)).toMatchObject({ sandbox_status: 'PAUSED', execution_status: 'paused' });
    const events = await countEvents(after, id);
    expect(events).toBeGreaterThanOrEqual(before);
    await until(
      () => processesWith('sleep 4321', dataDir),
      (found) => found.length === 0,
    );
  });
});

describe('a run whose service and worker are killed', () => {
  it('is paused in its log, once, and continues when it is resumed', async () => {
    const first = await ensureLocalService(options());
    const wait = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Wait' } },
      { source: 'agent', action: 'run', args: { command: `while [ ! -e ${dir}/go ]; do sleep 0.05; done` } },
      { source: 'agent', action: 'finish', args: {} },
    ]);
    const task = await startedTask(clientOf(first), { replay_json: wait });
    const id = task.app_conversation_id ?? '';
    const kinds = async ({ call }: ReturnType<typeof clientOf>) => {
      const { items } = (await call('GET', `/api/v1/conversation/${id}/events/search`)).body as {
        items: { kind: string; value?: unknown }[];
      };
      return items.map(({ kind, value }) => (typeof value === 'string' && value.length < 20 ? value : kind));
    };
    await until(
      () => kinds(clientOf(first)),
      (all) => all.includes('ActionEvent'),
    );
    const store = openStore(path.join(dataDir, 'service.db'));
    const worker = store.sandboxes.get(task.sandbox_id ?? '')?.worker_pid ?? 0;
    store.close();
    // Stopped, it cannot write the end of its runs when its service is gone.
    process.kill(worker, 'SIGSTOP');
    process.kill(first.pid, 'SIGKILL');
    await until(
      () => isAlive({ pid: first.pid, start: null }) && startOf(first.pid) !== 'zombie',
      (lives) => !lives,
    );
    const after = clientOf(await ensureLocalService(options()));
    const ended = await kinds(after);
    expect(ended.slice(-2)).toEqual(['AgentErrorEvent', 'paused']);
    expect(await conversation(after, id)).toMatchObject({ sandbox_status: 'PAUSED' });
    writeFileSync(path.join(dir, 'go'), '');
    await after.call('POST', `/api/v1/sandboxes/${task.sandbox_id}/resume`);
    await until(
      () => conversation(after, id),
      (each) => each?.execution_status === 'paused',
    );
    expect(await kinds(after)).toEqual(ended);
  });
});

/** Processes of this sandbox tree, by command line and environment. */
function processesWith(command: string, folder: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return line === command && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder);
      } catch {
        return false;
      }
    });
}
