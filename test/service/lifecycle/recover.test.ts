import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureLocalService } from '../../../src/service/index.ts';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import { sandboxMark } from '../../../src/service/isolation/processes.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import type { ConversationState } from '../../../src/service/storage/conversation-state.ts';
import { eventLogFile, openEventLog } from '../../../src/service/storage/event-log.ts';
import { createClock } from '../../../src/service/lifecycle/clock.ts';
import { dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import { isAlive, startOf } from '../../../src/base/process.ts';
import { recover } from '../../../src/service/recover.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import { conversationRow } from '../storage/support.ts';
import { conversation, countEvents, startedTask, until, untilShown } from '../app/support.ts';
import { clientOf, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();
let dir: string;
let store: Store;
let row: SandboxRow;
let child: ReturnType<typeof spawn>;
beforeEach(async () => {
  dir = path.join(services.dir, 'recovered');
  mkdirSync(dir);
  store = openStore(dataPaths(dir).database);
  row = newSandbox('process', createClock().stamp());
  const mark = sandboxMark(row.id, path.join(dataPaths(dir).workspaces, row.id));
  child = spawn(process.execPath, ['-e', 'setTimeout(() => 0, 600_000)', mark], {
    detached: true,
    stdio: 'ignore',
  });
  await once(child, 'spawn');
});
afterEach(() => {
  child.kill('SIGKILL');
  store.close();
});

async function afterCrash(worker_pid: number, worker_start: string | null): Promise<string> {
  store.sandboxes.insert({ ...row, status: 'RUNNING', worker_pid, worker_start });
  await recover(store, dataPaths(dir), createClock(), () => undefined);
  return row.id;
}

describe('after a crash', () => {
  const pid = (): number => child.pid ?? 0;

  it('ends the remaining worker, and stores its sandbox as paused', async () => {
    const ended = once(child, 'exit');
    const id = await afterCrash(pid(), startOf(pid()));
    await ended;
    expect(store.sandboxes.get(id)).toMatchObject({ status: 'PAUSED', worker_pid: null });
  });

  it.each([
    ['of another start', pid, '1'],
    ['of no known start', pid, null],
    ['of every process there is', () => -1, null],
  ])('ends no process by a pid %s', async (_what, number, start) => {
    const id = await afterCrash(number(), start);
    expect(isAlive({ pid: pid(), start: null })).toBe(true);
    expect(store.sandboxes.get(id)).toMatchObject({ status: 'PAUSED', worker_pid: null });
  });

  it('reads the ends of runs from the logs of a failed sandbox when the service was killed before it stored them', async () => {
    const stamp = createClock().stamp();
    store.sandboxes.insert({ ...row, status: 'ERROR' });
    const conversation = conversationRow({
      id: 'c'.repeat(32),
      sandbox_id: row.id,
      execution_status: 'running',
      created_at: stamp,
    });
    store.conversations.insert(conversation);
    const logs = path.join(dataPaths(dir).events, row.id);
    mkdirSync(logs, { recursive: true });
    const log = openEventLog(eventLogFile(logs, conversation.id));
    log.write('state', {
      conversation_id: conversation.id,
      execution_status: 'error',
    } as ConversationState);
    log.close();
    await recover(store, dataPaths(dir), createClock(), () => undefined);
    expect(store.conversations.get(conversation.id)).toMatchObject({ execution_status: 'error' });
  });

  it('ends an interrupted start, and keeps its sandbox', async () => {
    const stamp = createClock().stamp();
    store.sandboxes.insert(row);
    const workspace = path.join(dataPaths(dir).workspaces, row.id);
    mkdirSync(workspace, { recursive: true });
    const task = {
      id: 't',
      dialect: 'V1',
      status: 'WAITING_FOR_SANDBOX',
      detail: null,
      app_conversation_id: null,
    } as const;
    const more = { conversation_id: 'c', sandbox_id: row.id, agent_server_url: null, request: {} };
    store.startTasks.insert({ ...task, ...more, created_at: stamp, updated_at: stamp });
    await recover(store, dataPaths(dir), createClock(), () => undefined);
    expect(store.startTasks.get('t')?.status).toBe('ERROR');
    expect([store.sandboxes.get(row.id)?.status, existsSync(workspace)]).toEqual(['PAUSED', true]);
  });
});

describe('a service in the background', () => {
  it('that is killed loses no acknowledged change, leaves no process, and its starts end in error', async () => {
    const first = await ensureLocalService(services.options());
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
    const late = (await client.call('POST', '/api/v1/app-conversations', { replay_json: 'demo' }))
      .body as {
      id: string;
    };
    process.kill(first.pid, 'SIGKILL');
    await until(() => !isAlive({ pid: first.pid, start: null }) && startOf(first.pid) !== 'zombie');
    const second = await ensureLocalService(services.options());
    expect(second.started).toBe(true);
    const after = clientOf(second);
    expect((await after.call('GET', '/api/settings')).body).toMatchObject({ language: 'de' });
    const [lateTask] = (
      await after.call('GET', `/api/v1/app-conversations/start-tasks?ids=${late.id}`)
    ).body as {
      status: string;
      detail: string | null;
    }[];
    expect(['READY', 'ERROR']).toContain(lateTask?.status);
    if (lateTask?.status === 'ERROR') expect(lateTask.detail).toContain('stopped');
    expect(await conversation(after, id)).toMatchObject({
      sandbox_status: 'PAUSED',
      execution_status: 'paused',
    });
    const events = await countEvents(after, id);
    expect(events).toBeGreaterThanOrEqual(before);
    await until(
      () => processesWith('sleep 4321', services.dataDir),
      (found) => found.length === 0,
    );
  });
});

describe('a run whose service and worker are killed', () => {
  it('is paused in its log, once, and continues when it is resumed', async () => {
    const first = await ensureLocalService(services.options());
    const wait = JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Wait' } },
      {
        source: 'agent',
        action: 'run',
        args: { command: `while [ ! -e ${services.dir}/go ]; do sleep 0.05; done` },
      },
      { source: 'agent', action: 'finish', args: {} },
    ]);
    const task = await startedTask(clientOf(first), { replay_json: wait });
    const id = task.app_conversation_id ?? '';
    const kinds = async ({ call }: ReturnType<typeof clientOf>) => {
      const { items } = (await call('GET', `/api/v1/conversation/${id}/events/search`)).body as {
        items: { kind: string; value?: unknown }[];
      };
      return items.map(({ kind, value }) =>
        typeof value === 'string' && value.length < 20 ? value : kind,
      );
    };
    await until(
      () => kinds(clientOf(first)),
      (all) => all.includes('ActionEvent'),
    );
    const store = openStore(path.join(services.dataDir, 'service.db'));
    const worker = store.sandboxes.get(task.sandbox_id ?? '')?.worker_pid ?? 0;
    store.close();
    // Stopped, it cannot write the end of its runs when its service is gone.
    process.kill(worker, 'SIGSTOP');
    process.kill(first.pid, 'SIGKILL');
    await until(() => !isAlive({ pid: first.pid, start: null }) && startOf(first.pid) !== 'zombie');
    const after = clientOf(await ensureLocalService(services.options()));
    const ended = await kinds(after);
    expect(ended.slice(-2)).toEqual(['AgentErrorEvent', 'paused']);
    expect(await conversation(after, id)).toMatchObject({ sandbox_status: 'PAUSED' });
    writeFileSync(path.join(services.dir, 'go'), '');
    await after.call('POST', `/api/v1/sandboxes/${task.sandbox_id}/resume`);
    await untilShown(after, id, { execution_status: 'paused' });
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
