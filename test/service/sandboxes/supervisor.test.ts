import { afterEach, describe, expect, it } from 'vitest';
import { createTestApp, endedTask, startedTask, until, type Task, type TestApp } from '../app/support.ts';
import { sandboxCalls } from './support.ts';

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

const LONG_RUN = JSON.stringify([
  { source: 'user', action: 'message', args: { content: 'Go' } },
  { source: 'agent', action: 'run', args: { command: 'sleep 600' } },
  { source: 'agent', action: 'finish', args: {} },
]);
