import { describe, expect, it } from 'vitest';
import { endCutOffRuns } from '../../../src/service/sandboxes/cut-off-runs.ts';
import { appOfEachTest, conversation, startedTask, until } from '../app/support.ts';

const app = appOfEachTest();

interface Event {
  id: string;
  kind: string;
  timestamp: string;
  [member: string]: unknown;
}

const ENDLESS = JSON.stringify([
  { source: 'user', action: 'message', args: { content: 'Wait' } },
  { source: 'agent', action: 'run', args: { command: 'sleep 1000' } },
  { source: 'agent', action: 'finish', args: {} },
]);

async function eventsOf(id: string): Promise<Event[]> {
  const { body } = await app.call('GET', `/api/v1/conversation/${id}/events/search?limit=100`);
  return (body as { items: Event[] }).items;
}

/** A conversation whose command runs for ever, and the sandbox it runs in. */
async function running(): Promise<{ id: string; sandboxId: string }> {
  const task = await startedTask(app, { replay_json: ENDLESS });
  const id = task.app_conversation_id ?? '';
  await until(
    () => eventsOf(id),
    (events) => events.some((event) => event.kind === 'ActionEvent'),
  );
  return { id, sandboxId: task.sandbox_id ?? '' };
}

function killWorker(sandboxId: string): void {
  process.kill(app.store.sandboxes.get(sandboxId)?.worker_pid ?? 0, 'SIGKILL');
}

const becomes = (sandboxId: string, status: string) =>
  until(
    () => app.store.sandboxes.get(sandboxId)?.status,
    (each) => each === status,
  );

const ending = (events: Event[]) =>
  events.slice(-3).map(({ kind, code, value }) => code ?? value ?? kind);

describe('a run whose worker is killed', () => {
  it('has failed, with the reason once in its log, and continues when the sandbox is resumed', async () => {
    const { id, sandboxId } = await running();
    killWorker(sandboxId);
    await becomes(sandboxId, 'ERROR');
    const events = await eventsOf(id);
    expect(ending(events)).toEqual(['error', 'AgentErrorEvent', 'SandboxCrashed']);
    expect(events.at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      source: 'environment',
      detail: expect.stringMatching(
        /broke down in the middle of the run: .*SIGKILL.*resume the sandbox/,
      ) as string,
    });
    expect(events.map((event) => event.timestamp)).toEqual(
      events.map((event) => event.timestamp).sort(),
    );
    expect(app.store.conversations.get(id)?.execution_status).toBe('error');

    await app.call('POST', `/api/v1/sandboxes/${sandboxId}/resume`);
    await becomes(sandboxId, 'RUNNING');
    expect(await conversation(app, id)).toMatchObject({ execution_status: 'error' });
    expect((await eventsOf(id)).map((event) => event.id)).toEqual(events.map((event) => event.id));
  });

  it('while the sandbox was paused is paused, not failed', async () => {
    const { id, sandboxId } = await running();
    await app.call('POST', `/api/v1/sandboxes/${sandboxId}/pause`);
    await becomes(sandboxId, 'PAUSED');
    killWorker(sandboxId);
    const paused = (each: string | null | undefined) => each === 'paused';
    await until(() => app.store.conversations.get(id)?.execution_status, paused);
    expect(ending(await eventsOf(id)).slice(1)).toEqual(['AgentErrorEvent', 'paused']);
  });

  it('while the sandbox ends is paused, too', async () => {
    const { id, sandboxId } = await running();
    const pid = app.store.sandboxes.get(sandboxId)?.worker_pid ?? 0;
    process.kill(pid, 'SIGSTOP'); // SIGTERM has no effect on it now
    const closed = app.context.supervisor.close();
    process.kill(pid, 'SIGKILL');
    await closed;
    expect(ending(await eventsOf(id)).slice(1)).toEqual(['AgentErrorEvent', 'paused']);
    expect(app.store.conversations.get(id)?.execution_status).toBe('paused');
  });

  it('is logged once, also when several processes try', async () => {
    const { id, sandboxId } = await running();
    killWorker(sandboxId);
    await becomes(sandboxId, 'ERROR');
    const before = await eventsOf(id);
    const options = {
      clock: app.context.clock,
      store: app.store,
      onConversation: () => undefined,
      log: () => undefined,
    };
    endCutOffRuns(
      app.context.supervisor.folders.events(sandboxId),
      { end: 'failed', why: 'again' },
      options,
    );
    endCutOffRuns(app.context.supervisor.folders.events(sandboxId), { end: 'paused' }, options);
    expect(await eventsOf(id)).toEqual(before);
  });
});

describe('a state that a worker has written and not reported when it is killed', () => {
  it('is read from the log, and a title that the user has set since is kept', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const [id, sandboxId] = [task.app_conversation_id ?? '', task.sandbox_id ?? ''];
    await until(() => app.store.conversations.get(id)?.execution_status === 'finished');
    app.store.conversations.update(id, { execution_status: 'running', title: 'mine' });
    killWorker(sandboxId);
    await becomes(sandboxId, 'ERROR');
    const stored = await until(
      () => app.store.conversations.get(id),
      (row) => row?.execution_status === 'finished',
    );
    expect(stored?.title).toBe('mine');
    expect(await conversation(app, id)).toMatchObject({ execution_status: 'finished' });
  });
});
