import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import WebSocket from 'ws';
import { describe, expect, it } from 'vitest';
import { serviceStatus, startService, type RunningService } from '../../../src/service/index.ts';
import { freeBlock } from '../../support/ports.ts';
import { conversation, countEvents, startedTask, until } from '../app/support.ts';
import { clientOf, NO_DATABASE, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();

/** The stream of the page of a new conversation, as a browser opens it. */
async function openPage(service: RunningService, signal?: AbortSignal): Promise<Response> {
  const client = clientOf(service);
  const { app_conversation_id: id } = await startedTask(client, { replay_json: 'demo' });
  const link = await client.call('POST', `/local/conversations/${id}/page-link`);
  const { token } = link.body as { token: string };
  const opened = await fetch(`${service.url}/conversations/${id}?once=${token}`, { redirect: 'manual' });
  const cookie = opened.headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
  return await fetch(`${service.url}/conversations/${id}/live`, { headers: { cookie }, signal });
}

describe('a service', () => {
  it('keeps its files private, reports where it listens, and leaves no file behind', async () => {
    const service = await services.start();
    expect(statSync(services.dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(services.dataDir, 'key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(path.join(services.dataDir, 'key'), 'utf8').trim()).toBe(service.key);
    expect(serviceStatus(services.dataDir)).toMatchObject({
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
    expect(serviceStatus(services.dataDir)).toMatchObject({ running: false });
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
    const other = http.createServer().listen(0, '127.0.0.1');
    await until(
      () => other.listening,
      (is) => is,
    );
    const { port } = other.address() as { port: number };
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
    const other = http.createServer().listen(port, '127.0.0.1');
    await until(
      () => other.listening,
      (is) => is,
    );
    try {
      expect((await services.start()).port).not.toBe(port);
    } finally {
      other.close();
    }
  });

  it('reports that it cannot use its data directory', async () => {
    writeFileSync(path.join(services.dir, 'file'), 'not a directory');
    await expect(startService(services.options({ dataDir: path.join(services.dir, 'file') }))).rejects.toMatchObject({
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
    expect(serviceStatus(services.dataDir).running).toBe(false);
  });

  it('does not end while a client follows over the web socket of a sandbox', async () => {
    // Longer than a busy machine may need between one request and the next.
    const idleTimeoutMs = 4_000;
    const service = await services.start({ idleTimeoutMs });
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
    expect(await service.ended).toContain('idle timeout');
  });

  it('does not end while a browser shows a page', async () => {
    const idleTimeoutMs = 4_000;
    const service = await services.start({ idleTimeoutMs });
    const page = new AbortController();
    const stream = await openPage(service, page.signal);
    let isOver = false;
    void service.ended.then(() => (isOver = true));
    const begun = performance.now();
    await until(
      () => performance.now() - begun,
      (passed) => passed > 1.5 * idleTimeoutMs,
    );
    expect({ isOver, status: stream.status }).toEqual({ isOver: false, status: 200 });
    page.abort();
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
    await until(
      () => conversation(client, id),
      (each) => each?.execution_status === 'finished',
    );
    const count = await countEvents(client, id);
    await first.close();
    const second = clientOf(await services.start());
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
