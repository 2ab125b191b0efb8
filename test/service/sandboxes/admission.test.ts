import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toEvict } from '../../../src/service/sandboxes/admission.ts';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import type { ExecutionStatus } from '../../../src/service/storage/conversation-state.ts';
import { conversationRow, storeOfEachTest } from '../storage/support.ts';
import {
  createTestApp,
  ended,
  endedTask,
  sandboxCalls,
  startedTask,
  trajectory,
  until,
  untilShown,
  type Task,
  type TestApp,
} from '../app/support.ts';

describe('which sandbox is paused for another', () => {
  const test = storeOfEachTest();

  /** Stores a sandbox that has been idle since this minute. */
  function idleSince(minute: number, status: SandboxRow['status'] = 'RUNNING'): string {
    const row = { ...newSandbox('process', `2026-01-01T00:0${minute}:00.000000Z`), status };
    test.store.sandboxes.insert(row);
    return row.id;
  }

  function addConversation(sandbox_id: string, execution_status: ExecutionStatus): void {
    const id = (test.store.conversations.count({}) + 10).toString(16).repeat(32);
    test.store.conversations.insert(
      conversationRow({ id, sandbox_id, execution_status, created_at: '' }),
    );
  }

  const chosen = (...ids: string[]): string | undefined => toEvict(test.store, ids)?.id;

  it('the one that has been idle longest is paused', () => {
    const [late, early, middle] = [idleSince(3), idleSince(1), idleSince(2)];
    expect([chosen(late, early, middle), chosen(late, middle)]).toEqual([early, middle]);
  });

  it('one that starts, is paused or is in error is not', () => {
    expect(
      chosen(idleSince(1, 'STARTING'), idleSince(2, 'PAUSED'), idleSince(3, 'ERROR')),
    ).toBeUndefined();
  });

  it('one with a run in progress is never paused, and one whose run waits for an approval last', () => {
    const [busy, waiting, idle] = [idleSince(1), idleSince(2), idleSince(3)];
    addConversation(busy, 'finished');
    addConversation(busy, 'running');
    addConversation(waiting, 'waiting_for_confirmation');
    addConversation(idle, 'finished');
    expect([chosen(busy, waiting, idle), chosen(busy, waiting), chosen(busy)]).toEqual([
      idle,
      waiting,
      undefined,
    ]);
  });
});

describe('a start beyond the limit of running sandboxes', () => {
  const WAITS = /^2 sandboxes are in use/;
  let app: TestApp;
  beforeEach(async () => {
    app = await createTestApp({ maxRunning: 2 });
  });
  afterEach(() => app.close());
  const { newSandbox, post, remove, settled, statusOf } = sandboxCalls(() => app);

  /** A run that ends once `open` was called. */
  const gated = (): string =>
    trajectory(`until [ -e '${path.join(app.dir, 'gate')}' ]; do sleep 0.05; done`);
  const open = (): void => {
    writeFileSync(path.join(app.dir, 'gate'), '');
  };
  const begin = async (replay_json: string, sandbox_id?: string): Promise<Task> =>
    (await app.call('POST', '/api/v1/app-conversations', { replay_json, sandbox_id })).body as Task;
  const taskOf = ({ id }: Task) => app.store.startTasks.get(id);
  const waiting = (task: Task) =>
    until(
      () => taskOf(task),
      (row) => WAITS.test(row?.detail ?? ''),
    );
  const running = async (count: number): Promise<void> => {
    const isRunning = (each: string) =>
      app.store.conversations.ofSandbox(each)[0]?.execution_status === 'running';
    await until(() => app.store.sandboxes.all().filter(({ id }) => isRunning(id)).length === count);
  };
  /** Fills the limit with runs that wait for `open`. */
  const fill = async (): Promise<Task[]> => {
    const tasks = [await begin(gated()), await begin(gated())];
    await running(2);
    return tasks;
  };

  it('waits without a worker until a run has ended: of six at once all finish, two at a time, and none is paused', async () => {
    const tasks = await Promise.all(Array.from({ length: 6 }, () => begin(gated())));
    await running(2);
    const states = await until(
      () => tasks.map(taskOf),
      (rows) => rows.filter((row) => WAITS.test(row?.detail ?? '')).length === 4,
    );
    const words = states.map((row) => row?.status).toSorted();
    expect(words).toEqual([
      'READY',
      'READY',
      ...Array.from({ length: 4 }, () => 'WAITING_FOR_SANDBOX'),
    ]);
    const rows = app.store.sandboxes.all();
    expect(rows.filter(({ worker_pid: pid }) => pid !== null).map(({ status }) => status)).toEqual([
      'RUNNING',
      'RUNNING',
    ]);
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['RUNNING', 'STARTING']));
    open();
    for (const task of tasks) {
      const { app_conversation_id: id, detail } = await endedTask(app, task.id);
      expect([detail, (await ended(app, id ?? '')).execution_status]).toEqual([null, 'finished']);
    }
    const kept = app.store.sandboxes.all().filter(({ status }) => status === 'RUNNING');
    expect(kept.length).toBeLessThanOrEqual(2);
  });

  it('ends with the reason when its sandbox is deleted or paused, and leaves its turn to the next', async () => {
    await fill();
    const paused = await newSandbox();
    await post(paused, 'pause');
    const tasks = [await begin('demo'), await begin('demo', paused), await begin('demo')];
    for (const task of tasks) await waiting(task);
    const [first, second, third] = tasks.map(taskOf);
    expect((await remove(first?.sandbox_id ?? '')).status).toBe(200);
    expect((await post(paused, 'pause')).status).toBe(200);
    expect(await endedTask(app, first?.id ?? '')).toMatchObject({
      status: 'ERROR',
      detail: 'the sandbox was deleted',
    });
    expect(await endedTask(app, second?.id ?? '')).toMatchObject({
      status: 'ERROR',
      detail: 'the sandbox was stopped while its start waited for another one to become idle',
    });
    expect([statusOf(first?.sandbox_id ?? ''), statusOf(paused)]).toEqual([null, 'PAUSED']);
    open();
    expect(await endedTask(app, third?.id ?? '')).toMatchObject({ status: 'READY' });
  });

  it('ends when the service ends, and leaves no sandbox', async () => {
    const tasks = await fill();
    const task = await begin('demo');
    await waiting(task);
    await Promise.all([app.context.starter.close(), app.context.supervisor.close()]);
    expect(taskOf(task)).toMatchObject({ status: 'ERROR', detail: 'the service was stopped' });
    expect(app.store.sandboxes.all()).toHaveLength(tasks.length);
  });

  it('is answered at once with the reason where a sandbox is created, and starts when another one is paused', async () => {
    const [busy] = await fill();
    const { body } = await app.call('POST', '/api/v1/sandboxes');
    expect(body).toMatchObject({ status: 'STARTING', status_detail: expect.stringMatching(WAITS) });
    const { id } = body as { id: string };
    expect((await post(id, 'resume')).status).toBe(200);
    await post(taskOf(busy as Task)?.sandbox_id ?? '', 'pause');
    expect([await settled(id), app.store.sandboxes.get(id)?.status_detail]).toEqual([
      'RUNNING',
      null,
    ]);
  });

  it('pauses no run of which the store does not know yet', async () => {
    const [busy] = await fill();
    const { conversation_id: id = '', sandbox_id } = taskOf(busy as Task) ?? {};
    app.store.conversations.update(id, { execution_status: 'idle' });
    await waiting(await begin('demo'));
    expect(statusOf(sandbox_id ?? '')).toBe('RUNNING');
  });

  it('pauses a run that waits for an approval, which is still pending when its sandbox is resumed', async () => {
    const confirmation_policy = { kind: 'AlwaysConfirm' };
    const tasks = await Promise.all(
      [1, 2, 3].map(() => startedTask(app, { replay_json: 'demo', confirmation_policy })),
    );
    const ids = tasks.map(({ app_conversation_id: id }) => id ?? '');
    for (const id of ids)
      await untilShown(app, id, { execution_status: 'waiting_for_confirmation' });
    const paused = tasks.find(({ sandbox_id: id }) => statusOf(id ?? '') === 'PAUSED');
    const { sandbox_id: sandbox, app_conversation_id: conversation } = paused ?? {};
    expect((await post(sandbox ?? '', 'resume')).status).toBe(200);
    expect(await settled(sandbox ?? '')).toBe('RUNNING');
    const at = `/api/conversations/${conversation}/events/respond_to_confirmation`;
    const json = { accept: true };
    const { status } = await app.context.supervisor.send(sandbox ?? '', {
      method: 'POST',
      path: at,
      json,
    });
    expect(status).toBe(200);
  });
});

it('a sandbox is kept for the clients of its run, and gives its place at once when it is paused', async () => {
  const app = await createTestApp({ maxRunning: 1, keepMs: 3_600_000 });
  try {
    const { app_conversation_id: id, sandbox_id } = await startedTask(app, { replay_json: 'demo' });
    await ended(app, id ?? '');
    const { body } = await app.call('POST', '/api/v1/app-conversations', { replay_json: 'demo' });
    const task = body as Task;
    await until(() => app.store.startTasks.get(task.id)?.detail !== null);
    expect(app.store.sandboxes.get(sandbox_id ?? '')?.status).toBe('RUNNING');
    await app.context.supervisor.pause(sandbox_id ?? '');
    expect(await endedTask(app, task.id)).toMatchObject({ status: 'READY' });
  } finally {
    await app.close();
  }
});
