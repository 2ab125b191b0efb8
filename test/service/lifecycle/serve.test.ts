import http from 'node:http';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { readFileSync, readdirSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import WebSocket from 'ws';
import { describe, expect, it } from 'vitest';
import { runningService, startService, type RunningService } from '../../../src/service/index.ts';
import { freeBlock, startRaw, untilTestEnds } from '../../support/server.ts';
import {
  conversation,
  countEvents,
  PACKAGE_ROOT,
  startedTask,
  until,
  untilShown,
} from '../app/support.ts';
import { clientOf, NO_DATABASE, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();
const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

/** The stream of the page of a new conversation, as a browser opens it. */
async function openPage(service: RunningService, signal?: AbortSignal): Promise<Response> {
  const client = clientOf(service);
  const { app_conversation_id: id } = await startedTask(client, { replay_json: 'demo' });
  const link = await client.call('POST', `/local/conversations/${id}/page-link`);
  const { token } = link.body as { token: string };
  const opened = await fetch(`${service.url}/conversations/${id}?once=${token}`, {
    redirect: 'manual',
  });
  const cookie = opened.headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
  return await fetch(`${service.url}/conversations/${id}/live`, { headers: { cookie }, signal });
}

describe('a service', () => {
  it('keeps its files private, reports where it listens, and leaves no file behind', async () => {
    const service = await services.start();
    expect(statSync(services.dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(services.dataDir, 'key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(path.join(services.dataDir, 'key'), 'utf8').trim()).toBe(service.key);
    const state = { pid: process.pid, port: service.port, version: '1.0.0', api: 'both' };
    expect(runningService(services.dataDir)).toMatchObject({ key: service.key, state });
    const task = await startedTask(clientOf(service), { replay_json: 'demo' });
    expect(task.status).toBe('READY');
    await service.close();
    expect(await service.ended).toBe('on request');
    expect(runningService(services.dataDir)).toBeNull();
    expect(readdirSync(services.dataDir)).not.toContain('service.lock');
    expect(readdirSync(services.dataDir)).not.toContain('service.json');
  });

  it('owns its data directory: a second one is refused with the pid of the first', async () => {
    await services.start();
    await expect(startService(services.options())).rejects.toMatchObject({
      name: 'ServiceError',
      code: 'locked',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
  });

  it('cannot start on a port in use, and then releases lock and files', async () => {
    const other = await startRaw(null);
    const port = Number(new URL(other.url).port);
    await expect(startService(services.options({ port }))).rejects.toMatchObject({
      code: 'listen',
      message: expect.stringContaining(String(port)),
    });
    other.close();
    await services.start({ port: 0 });
  });

  it('listens on its previous port, and on another one when that is in use', async () => {
    const first = await services.start();
    await first.close();
    const kept = path.join(services.dataDir, 'port');
    expect(readFileSync(kept, 'utf8')).toBe(`${first.port}\n`);
    // One that the system does not assign to another process meanwhile.
    const port = await freeBlock();
    writeFileSync(kept, `${port}\n`);
    const second = await services.start();
    expect(second.port).toBe(port);
    await second.close();
    await untilTestEnds(startRaw(null, port));
    expect((await services.start()).port).not.toBe(port);
  });

  it.runIf(hasIPv6)(
    'also listens on ::1, where no other program can receive a request to localhost',
    async () => {
      const service = await services.start();
      const task = await startedTask(clientOf(service), { replay_json: 'demo' });
      for (const url of [service.url, task.agent_server_url ?? ''])
        expect((await fetch(`${url.replace('127.0.0.1', '[::1]')}/openapi.json`)).status).toBe(200);
      const other = http.createServer();
      const refused = new Promise<unknown>((resolve) => other.once('error', resolve));
      other.listen(service.port, '::1');
      expect(await refused).toMatchObject({ code: 'EADDRINUSE' });
    },
  );

  it('reports that it cannot use its data directory', async () => {
    writeFileSync(path.join(services.dir, 'file'), 'not a directory');
    await expect(
      startService(services.options({ dataDir: path.join(services.dir, 'file') })),
    ).rejects.toMatchObject({
      code: 'data-dir',
    });
    await (await services.start()).close();
    writeFileSync(path.join(services.dataDir, 'service.db'), NO_DATABASE);
    await expect(startService(services.options())).rejects.toMatchObject({
      code: 'data-dir',
      message: expect.stringContaining(path.join(services.dataDir, 'service.db')),
      hint: expect.stringMatching(/^Move .+ away/),
    });
  });

  it('ends after the idle timeout', async () => {
    const service = await services.start({ idleTimeoutMs: 50 });
    expect(await service.ended).toContain('idle timeout');
    expect(runningService(services.dataDir)).toBeNull();
  });

  it('does not end while a client follows over the web socket of a sandbox, nor while a browser shows a page', async () => {
    const time = { now: Date.now(), looks: 0 };
    const now = () => (time.looks++, time.now);
    const lines: string[] = [];
    const idleTimeoutMs = 200; // looks every 10 ms whether it is idle
    const service = await services.start({ idleTimeoutMs, now, log: (line) => lines.push(line) });
    /**
     * Whether the service has ended after some looks at which it was idle for longer than its
     * timeout.
     */
    const ends = async () => {
      const { looks } = time;
      time.now += idleTimeoutMs;
      await until(() => time.looks > looks + 5 || lines.includes('ended'));
      return lines.includes('stopping: idle timeout');
    };
    const client = clientOf(service);
    const task = await startedTask(client, { replay_json: 'demo' });
    const shown = await conversation(client, task.app_conversation_id ?? '');
    const follower = new WebSocket(
      `ws://${String(shown?.conversation_url).replace(/^http:\/\/([^/]+).*$/, '$1')}/sockets/events/${shown?.id ?? ''}`,
      { headers: { 'X-Session-API-Key': String(shown?.session_api_key) } },
    );
    await until(() => follower.readyState === follower.OPEN);
    await untilShown(client, shown?.id ?? '', { execution_status: 'finished' });
    expect(await ends()).toBe(false);
    const page = new AbortController();
    const stream = await openPage(service, page.signal);
    follower.terminate();
    expect([await ends(), stream.status]).toEqual([false, 200]);
    page.abort();
    while (!(await ends()));
    expect(await service.ended).toContain('idle timeout');
  });

  it('ends on request while a browser shows a page, which the last message of its stream states', async () => {
    const service = await services.start({ idleTimeoutMs: 0 });
    const stream = await openPage(service);
    const [text] = await Promise.all([stream.text(), service.close()]);
    expect(text).toMatch(/event: end\ndata: The local service has ended\.[^\n]*\n\n$/);
  });

  it('serves settings, conversations, events and a workspace to resume after a restart', async () => {
    const first = await services.start();
    const client = clientOf(first);
    await client.call('POST', '/api/settings', { language: 'de' });
    const task = await startedTask(client, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await untilShown(client, id, { execution_status: 'finished' });
    const count = await countEvents(client, id);
    const before = await conversation(client, id);
    await first.close();
    const second = clientOf(await services.start());
    expect((await second.call('GET', '/api/settings')).body).toMatchObject({ language: 'de' });
    expect(await conversation(second, id)).toMatchObject({
      sandbox_status: 'PAUSED',
      execution_status: 'finished',
    });
    expect(await countEvents(second, id)).toBe(count);
    await second.call('POST', `/api/v1/sandboxes/${task.sandbox_id}/resume`);
    const resumed = await untilShown(second, id, { sandbox_status: 'RUNNING' });
    // Its port was free meanwhile: another program may have got the key from a client.
    expect(resumed?.session_api_key).toMatch(/^.{40,}$/);
    expect(resumed?.session_api_key).not.toBe(before?.session_api_key);
    const file = await second.call(
      'GET',
      `/api/v1/app-conversations/${id}/file?file_path=acs-demo.sh`,
    );
    expect(file.body).toContain('#!/bin/sh');
  });
});

// What makes a terminal here is util-linux's program of that name; others take other options.
const hasScript = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

it.runIf(hasScript)(
  'a service whose terminal closes shuts down with the exit code of SIGHUP',
  async () => {
    const { dir, dataDir } = services;
    const code = path.join(dir, 'code');
    // The system sends the signal only to the shell, the leader of the session. Its first wait ends
    // with the signal.
    const serve = `'${process.execPath}' '${PACKAGE_ROOT}/bin/acs.cjs' serve`;
    const command =
      `trap 'kill -HUP $pid' HUP; ${serve} & pid=$!; wait $pid; wait $pid; echo ` +
      `$? > '${code}'`;
    const terminal = spawn('script', ['-qfc', command, '/dev/null'], {
      env: {
        PATH: process.env.PATH,
        HOME: dir,
        SHELL: '/bin/sh',
        TERM: 'dumb',
        ACS_DATA_DIR: dataDir,
      },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await until(() => runningService(dataDir) !== null);
    terminal.kill('SIGKILL');
    await until(() => existsSync(code) && readFileSync(code, 'utf8') === '129\n');
    expect(runningService(dataDir)).toBeNull();
  },
);
