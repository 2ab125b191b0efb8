import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conversation, createTestApp, startedTask, until, type TestApp } from './support.ts';

let app: TestApp;
beforeEach(async () => {
  app = await createTestApp({ maxRunning: 2 });
});
afterEach(() => app.close());

interface Sandbox {
  id: string;
  status: string;
  status_detail: string | null;
  session_api_key: string | null;
  exposed_urls: { name: string; url: string; port: number }[] | null;
}

const SANDBOXES = '/api/v1/sandboxes';
const post = (path: string) => app.call('POST', path);

async function sandbox(id: string): Promise<Sandbox | null> {
  return ((await app.call('GET', `${SANDBOXES}?id=${id}`)).body as (Sandbox | null)[])[0] ?? null;
}

function becomes(id: string, status: string): Promise<Sandbox | null> {
  return until(
    () => sandbox(id),
    (each) => each?.status === status,
  );
}

async function started(): Promise<Sandbox> {
  const created = (await post(SANDBOXES)).body as Sandbox;
  // Who gets the answer can use the sandbox.
  expect(created).toMatchObject({ status: 'RUNNING', session_api_key: expect.any(String) as unknown });
  return created;
}

describe('a sandbox', () => {
  it('starts, pauses, resumes with the same key, and is deleted with its workspace', async () => {
    const running = await started();
    expect(running.id).toMatch(/^[0-9A-Za-z]{22}$/);
    expect(running.exposed_urls).toEqual([{ name: 'AGENT_SERVER', url: expect.any(String), port: expect.any(Number) }]);
    expect((await post(`${SANDBOXES}/${running.id}/pause`)).body).toEqual({ success: true });
    expect(await becomes(running.id, 'PAUSED')).toMatchObject({ session_api_key: null, exposed_urls: null });
    expect((await post(`${SANDBOXES}/${running.id}/pause`)).body).toEqual({ success: true });
    expect((await post(`${SANDBOXES}/${running.id}/resume`)).body).toEqual({ success: true });
    expect(await becomes(running.id, 'RUNNING')).toMatchObject({ session_api_key: running.session_api_key });
    const workspace = app.context.supervisor.workspaceOf(running.id);
    expect(existsSync(workspace)).toBe(true);
    expect((await app.call('DELETE', `${SANDBOXES}/${running.id}?sandbox_id=${running.id}`)).body).toEqual({
      success: true,
    });
    expect(existsSync(workspace)).toBe(false);
    expect(await sandbox(running.id)).toBeNull();
  });

  it('is deleted only when path and query name the same one', async () => {
    const running = await started();
    expect((await app.call('DELETE', `${SANDBOXES}/${running.id}`)).status).toBe(422);
    expect((await app.call('DELETE', `${SANDBOXES}/nope?sandbox_id=${running.id}`)).status).toBe(400);
    expect((await app.call('DELETE', `${SANDBOXES}/nope?sandbox_id=nope`)).status).toBe(404);
    expect(await sandbox(running.id)).toMatchObject({ status: 'RUNNING' });
    expect((await post(`${SANDBOXES}/nope/pause`)).status).toBe(404);
    expect((await post(`${SANDBOXES}/nope/resume`)).status).toBe(404);
    expect((await app.call('GET', SANDBOXES)).status).toBe(422);
    expect((await app.call('GET', `${SANDBOXES}/${running.id}`)).status).toBe(405);
  });

  it('whose worker dies is in error, says so, keeps its conversation, and comes back when resumed', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.sandbox_id ?? '';
    const conversationId = task.app_conversation_id ?? '';
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'finished',
    );
    process.kill(app.store.sandboxes.get(id)?.worker_pid ?? 0, 'SIGKILL');
    expect((await becomes(id, 'ERROR'))?.status_detail).toContain('SIGKILL');
    expect(await conversation(app, conversationId)).toMatchObject({ sandbox_status: 'ERROR', execution_status: null });
    const events = (await app.call('GET', `/api/v1/conversation/${conversationId}/events/count`)).body;
    expect(events).toBeGreaterThan(5);
    await post(`${SANDBOXES}/${id}/resume`);
    await becomes(id, 'RUNNING');
    await until(
      () => conversation(app, conversationId),
      (each) => each?.sandbox_status === 'RUNNING' && each.execution_status === 'finished',
    );
    const file = await app.call('GET', `/api/v1/app-conversations/${conversationId}/file?file_path=acs-demo.sh`);
    expect(file.body).toContain('#!/bin/sh');
  });

  it('that fell back to plain processes is shown as what it runs as, and is asked for the other spec again', async () => {
    const bin = mkdtempSync(path.join(tmpdir(), 'acs-bin-'));
    writeFileSync(path.join(bin, 'bwrap'), '#!/bin/sh\necho "no namespaces" >&2\nexit 1\n', { mode: 0o755 });
    const fallen = await createTestApp({ spec: 'bubblewrap', path: `${bin}:${process.env.PATH ?? ''}` });
    try {
      const { id } = (await fallen.call('POST', SANDBOXES)).body as Sandbox;
      await fallen.context.supervisor.whenRunning(id);
      const [shown] = (await fallen.call('GET', `${SANDBOXES}?id=${id}`)).body as unknown[];
      expect(shown).toMatchObject({
        sandbox_spec_id: 'process',
        status_detail: expect.stringContaining('without isolation') as string,
      });
      expect(fallen.store.sandboxes.get(id)?.spec_id).toBe('bubblewrap');
    } finally {
      await fallen.close();
      rmSync(bin, { recursive: true });
    }
  });

  it('beyond the limit pauses the one that has been idle longest, and says why', async () => {
    const [first, second] = [await started(), await started()];
    const third = await started();
    const paused = await becomes(first.id, 'PAUSED');
    expect(paused?.status_detail).toContain('more than 2 sandboxes');
    expect(await sandbox(second.id)).toMatchObject({ status: 'RUNNING' });
    expect(await sandbox(third.id)).toMatchObject({ status: 'RUNNING' });
  });

  it('that is paused or gone leaves the events of its conversation readable', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const [id, conversationId] = [task.sandbox_id ?? '', task.app_conversation_id ?? ''];
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'finished',
    );
    const count = async () => (await app.call('GET', `/api/v1/conversation/${conversationId}/events/count`)).body;
    const before = await count();
    const root = `/api/v1/app-conversations/${conversationId}`;
    const content = { content: [{ type: 'text', text: 'x' }] };
    await post(`${SANDBOXES}/${id}/pause`);
    await becomes(id, 'PAUSED');
    expect(await conversation(app, conversationId)).toMatchObject({
      sandbox_status: 'PAUSED',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    expect(await app.call('POST', `${root}/send-message`, content)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`/api/v1/sandboxes/${id}/resume`) },
    });
    const queued = await app.call('POST', `/api/v1/conversations/${conversationId}/pending-messages`, {
      ...content,
      role: 'user',
    });
    expect(queued).toMatchObject({ status: 201, body: { queued: true, position: 1 } });
    expect((await app.call('GET', `${root}/git/changes?path=.`)).status).toBe(409);
    expect((await app.call('GET', `${root}/file`)).body).toBe('');
    await post(`${SANDBOXES}/${id}/resume`);
    await until(count, (now) => Number(now) > Number(before));
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'error', // nobody could answer
    );
    const after = await count();
    await app.call('DELETE', `${SANDBOXES}/${id}?sandbox_id=${id}`);
    expect(await conversation(app, conversationId)).toMatchObject({ sandbox_status: 'MISSING' });
    expect((await app.call('POST', `${root}/send-message`, content)).status).toBe(404);
    expect((await app.call('GET', `${root}/git/changes?path=.`)).status).toBe(404);
    expect((await app.call('GET', `${root}/skills`)).status).toBe(404);
    expect(await count()).toBe(after);
  });
});

describe('specs', () => {
  it('are listed with the default first, in pages, and found by id', async () => {
    const all = (await app.call('GET', '/api/v1/sandbox-specs/search')).body as { items: { id: string }[] };
    expect(all.items.map((spec) => spec.id)).toEqual(['process', 'bubblewrap', 'bubblewrap-offline']);
    const page = (await app.call('GET', '/api/v1/sandbox-specs/search?limit=1&page_id=1')).body;
    expect(page).toMatchObject({ items: [{ id: 'bubblewrap' }], next_page_id: '2' });
    expect((await app.call('GET', '/api/v1/sandbox-specs?id=process&id=nope')).body).toMatchObject([
      { id: 'process' },
      null,
    ]);
    expect((await app.call('GET', '/api/v1/sandbox-specs/search?limit=0')).body).toMatchObject({
      detail: [{ type: 'greater_than', loc: ['query', 'limit'] }],
    });
    expect((await app.call('POST', `${SANDBOXES}?sandbox_spec_id=nope`)).status).toBe(400);
  });
});
