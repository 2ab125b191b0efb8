import Database from 'libsql';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createTestApp,
  endedTask,
  sandboxCalls,
  startedTask,
  until,
  type Task,
  type TestApp,
} from '../app/support.ts';

let app: TestApp;
afterEach(() => app.close());
const { newSandbox, post, remove, settled, statusOf } = sandboxCalls(() => app);

describe('a sandbox in which a conversation is being started', () => {
  /** Its start task, once it has taken the sandbox. */
  async function beginIn(sandbox_id: string, replay_json = 'demo'): Promise<Task> {
    const request = { replay_json, sandbox_id };
    const task = (await app.call('POST', '/api/v1/app-conversations', request)).body as Task;
    await until(
      () => app.store.startTasks.get(task.id)?.status,
      (status) => status !== 'WORKING',
    );
    return task;
  }

  it('is paused once the conversation has started', async () => {
    app = await createTestApp();
    const id = await newSandbox();
    const task = await beginIn(id);
    await post(id, 'pause');
    expect(await endedTask(app, task.id)).toMatchObject({ status: 'READY', detail: null });
    expect(await settled(id)).toBe('PAUSED');
  });

  it('is deleted at once, and the start fails with the reason', async () => {
    app = await createTestApp();
    const id = await newSandbox();
    const task = await beginIn(id);
    expect((await remove(id)).status).toBe(200);
    const ended = await endedTask(app, task.id);
    if (ended.status === 'ERROR') expect(ended.detail).toMatch(/deleted|MISSING|reached/);
    expect(statusOf(id)).toBeNull();
  });

  it('is not evicted before: as many conversations start at once as are requested', async () => {
    app = await createTestApp({ maxRunning: 1 });
    const tasks = await Promise.all([1, 2, 3].map(() => startedTask(app, { replay_json: 'demo' })));
    expect(tasks.map(({ status }) => status)).toEqual(['READY', 'READY', 'READY']);
  });

  it('is not evicted afterwards when its run is under way and another sandbox is idle', async () => {
    app = await createTestApp({ maxRunning: 2 });
    const busy = await newSandbox();
    const idle = await newSandbox();
    await settled(busy);
    await settled(idle);
    const task = await beginIn(busy, LONG_RUN);
    await newSandbox();
    expect(await endedTask(app, task.id)).toMatchObject({ status: 'READY' });
    await until(
      () => [busy, idle].map(statusOf),
      (statuses) => statuses.includes('PAUSED'),
    );
    expect([busy, idle].map(statusOf)).toEqual(['RUNNING', 'PAUSED']);
  });
});

it('a change that the full disk refuses is not acknowledged, and the sandbox can be used when there is space', async () => {
  app = await createTestApp();
  const id = await newSandbox();
  expect(await settled(id)).toBe('RUNNING');
  const worker = app.store.sandboxes.get(id)?.worker_pid ?? 0;
  const other = new Database(path.join(app.dir, 'service.db'));
  other.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON sandboxes BEGIN SELECT RAISE(FAIL, 'disk is full'); END",
  );
  await expect(app.context.supervisor.pause(id)).rejects.toThrow('disk is full');
  expect(await post(id, 'resume')).toMatchObject({
    status: 507,
    body: { detail: expect.stringContaining('disk') },
  });
  expect(statusOf(id)).toBe('RUNNING');
  other.exec('DROP TRIGGER full');
  expect((await post(id, 'resume')).status).toBe(200);
  expect(await settled(id)).toBe('RUNNING');
  expect((await app.context.supervisor.send(id, { method: 'GET', path: '/alive' })).status).toBe(
    200,
  );

  other.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON sandboxes BEGIN SELECT RAISE(FAIL, 'disk is full'); END",
  );
  process.kill(worker, 'SIGKILL');
  await until(
    () =>
      app.context.supervisor
        .send(id, { method: 'GET', path: '/alive' })
        .catch((error: unknown) => String(error)),
    (answer) => String(answer).includes('cannot be reached'),
  );
  other.exec('DROP TRIGGER full');
  other.close();
  await until(
    () => post(id, 'resume').then(() => settled(id)),
    (status) => status === 'RUNNING' && app.store.sandboxes.get(id)?.worker_pid !== worker,
  );
});

it('a sandbox whose folders cannot be created is not stored, and leaves no folder', async () => {
  app = await createTestApp();
  writeFileSync(path.join(app.dir, 'events'), 'in the way');
  expect((await app.call('POST', '/api/v1/sandboxes')).status).toBe(500);
  expect([app.store.sandboxes.all(), readdirSync(path.join(app.dir, 'workspaces'))]).toEqual([
    [],
    [],
  ]);
});

const LONG_RUN = JSON.stringify([
  { source: 'user', action: 'message', args: { content: 'Go' } },
  { source: 'agent', action: 'run', args: { command: 'sleep 600' } },
  { source: 'agent', action: 'finish', args: {} },
]);
