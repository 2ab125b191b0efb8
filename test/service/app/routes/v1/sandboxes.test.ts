import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { newSandbox } from '../../../../../src/service/sandboxes/new-sandbox.ts';
import { appOfEachTest, conversation, countEvents, startedTask, until } from '../../support.ts';

const app = appOfEachTest({ maxRunning: 2 });
const { post } = app;

interface Sandbox {
  id: string;
  status: string;
  status_detail: string | null;
  session_api_key: string | null;
  exposed_urls: { name: string; url: string; port: number }[] | null;
}

const SANDBOXES = '/api/v1/sandboxes';
const SPECS = '/api/v1/sandbox-specs';

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

  it('is deleted only when path and query have the same id', async () => {
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

  it('whose worker exits is in error with a reason, keeps its conversation, and runs again after a resume', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.sandbox_id ?? '';
    const conversationId = task.app_conversation_id ?? '';
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'finished',
    );
    process.kill(app.store.sandboxes.get(id)?.worker_pid ?? 0, 'SIGKILL');
    expect((await becomes(id, 'ERROR'))?.status_detail).toContain('SIGKILL');
    expect(await conversation(app, conversationId)).toMatchObject({
      sandbox_status: 'ERROR',
      execution_status: 'finished',
    });
    const events = await countEvents(app, conversationId);
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

  describe('where bubblewrap does not work', () => {
    const without = appOfEachTest({ whyNoBubblewrap: 'bubblewrap (bwrap) is not installed' });

    it('has the spec process when none is named, with a warning', async () => {
      const { id } = (await without.call('POST', SANDBOXES)).body as Sandbox;
      const [shown] = (await without.call('GET', `${SANDBOXES}?id=${id}`)).body as unknown[];
      expect(shown).toMatchObject({
        status: 'RUNNING',
        sandbox_spec_id: 'process',
        status_detail:
          'bubblewrap does not work here (bubblewrap (bwrap) is not installed): commands run without isolation',
      });
      expect((await without.call('GET', `${SPECS}/search`)).body).toMatchObject({ items: [{ id: 'process' }, {}, {}] });
    });

    it.each(['bubblewrap', 'bubblewrap-offline'])(
      'is refused with 501 when %s is named, and none is made',
      async (spec) => {
        const starts = '/api/v1/app-conversations';
        for (const refused of [
          await without.call('POST', `${SANDBOXES}?sandbox_spec_id=${spec}`),
          await without.call('POST', starts, { replay_json: 'demo', sandbox_spec_id: spec }),
        ]) {
          expect(refused.status).toBe(501);
          expect(refused.body).toMatchObject({ detail: expect.stringContaining('not installed') as string });
        }
        expect((await without.call('GET', `${SANDBOXES}/search`)).body).toMatchObject({ items: [] });
        expect((await without.call('GET', `${starts}/start-tasks/search`)).body).toMatchObject({ items: [] });
      },
    );

    it('that ran isolated is not resumed without isolation', async () => {
      without.store.sandboxes.insert({ ...newSandbox('bubblewrap', without.context.clock.stamp()), status: 'PAUSED' });
      const [row] = without.store.sandboxes.all();
      const resume = `${SANDBOXES}/${row?.id ?? ''}/resume`;
      for (const query of ['', '?sandbox_spec_id=process']) {
        expect((await without.call('POST', resume + query)).status).toBe(501);
        expect(without.store.sandboxes.all()).toEqual([row]);
      }
    });
  });

  it('that an earlier version ran without isolation is resumed only when process is named', async () => {
    const created = { ...newSandbox('bubblewrap', app.context.clock.stamp()), isolation: 'process' as const };
    app.store.sandboxes.insert({ ...created, status: 'PAUSED' });
    const refused = await app.call('POST', `${SANDBOXES}/${created.id}/resume`);
    expect(refused.status).toBe(501);
    expect(refused.body).toMatchObject({
      detail: expect.stringContaining(`acs sandbox start ${created.id} --spec process`) as string,
    });
    expect(app.store.sandboxes.get(created.id)?.status).toBe('PAUSED');
    expect((await app.call('POST', `${SANDBOXES}/${created.id}/resume?sandbox_spec_id=process`)).status).toBe(200);
    await becomes(created.id, 'RUNNING');
    expect(app.store.sandboxes.get(created.id)).toMatchObject({ spec_id: 'process', isolation: 'process' });
  });

  it('above the limit pauses the one that has been idle longest, and reports why', async () => {
    const [first, second] = [await started(), await started()];
    const third = await started();
    const paused = await becomes(first.id, 'PAUSED');
    expect(paused?.status_detail).toContain('more than 2 sandboxes');
    expect(await sandbox(second.id)).toMatchObject({ status: 'RUNNING' });
    expect(await sandbox(third.id)).toMatchObject({ status: 'RUNNING' });
  });

  it('that is paused or deleted leaves the events of its conversation readable', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const [id, conversationId] = [task.sandbox_id ?? '', task.app_conversation_id ?? ''];
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'finished',
    );
    const count = async () => await countEvents(app, conversationId);
    const before = await count();
    const root = `/api/v1/app-conversations/${conversationId}`;
    const content = { content: [{ type: 'text', text: 'x' }] };
    await post(`${SANDBOXES}/${id}/pause`);
    await becomes(id, 'PAUSED');
    expect(await conversation(app, conversationId)).toMatchObject({
      sandbox_status: 'PAUSED',
      execution_status: 'finished',
      conversation_url: null,
      session_api_key: null,
    });
    expect(await app.call('POST', `${root}/send-message`, content)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`/api/v1/sandboxes/${id}/resume`) },
    });
    expect((await app.call('GET', `${root}/file`)).body).toBe('');
    await post(`${SANDBOXES}/${id}/resume`);
    await becomes(id, 'RUNNING');
    await app.call('POST', `${root}/send-message`, content);
    await until(count, (now) => Number(now) > Number(before));
    await until(
      () => conversation(app, conversationId),
      (each) => each?.execution_status === 'error', // the replay has no further answer
    );
    const after = await count();
    await app.call('DELETE', `${SANDBOXES}/${id}?sandbox_id=${id}`);
    expect(await conversation(app, conversationId)).toMatchObject({ sandbox_status: 'MISSING' });
    expect((await app.call('POST', `${root}/send-message`, content)).status).toBe(404);
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
