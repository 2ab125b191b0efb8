/** What a service does about the one before it, which may have been killed at any moment. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { endCutOffRuns, type CutOff } from '../app/cut-off-runs.ts';
import { stateInLog } from '../app/event-logs.ts';
import { removeTreeSync } from '../app/remove-tree.ts';
import { reapLeftovers } from '../jail/processes.ts';
import type { Store } from '../store/index.ts';
import type { StartTaskRow } from '../store/start-tasks.ts';
import type { SandboxRow } from '../store/sandboxes.ts';
import path from 'node:path';
import type { Clock } from './clock.ts';
import type { dataPaths } from './paths.ts';
import { awaitEnd, isAlive, sendSignal } from './process.ts';

export interface RecoverOptions {
  store: Store;
  paths: ReturnType<typeof dataPaths>;
  clock: Clock;
  log(line: string): void;
}

const KILL_TIMEOUT_MS = 2000;
const CUT_OFF = 'the service was stopped while this conversation was being started';

/**
 * Ends what the service before left running, writes what ran as PAUSED and what was being started as ERROR, and reads
 * the state of conversations from their logs, which are never behind.
 */
export function recover({ store, paths, clock, log }: RecoverOptions): void {
  for (const folder of [paths.workspaces, paths.events]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(paths.staging, { recursive: true, force: true, maxRetries: 3 });
  for (const row of store.sandboxes.all()) {
    endLeftovers(row, log);
    endRuns(row, { store, paths, clock, log });
    const wasUp = row.status === 'RUNNING' || row.status === 'STARTING';
    if (!wasUp && row.worker_pid === null) continue;
    store.sandboxes.update(row.id, { ...(wasUp ? { status: 'PAUSED' } : {}), worker_pid: null, worker_start: null });
    if (wasUp) readConversations(row.id, store, paths.events);
  }
  for (const task of store.startTasks.unfinished()) giveUp(task, store, paths.workspaces, clock);
  for (const name of readdirSync(paths.workspaces)) {
    // Made for a sandbox of which nothing was written any more.
    if (store.sandboxes.get(name) === null) removeTreeSync(path.join(paths.workspaces, name));
  }
}

/** Ends a start that was cut off; the sandbox that was made for it would be of no use to anybody. */
function giveUp(task: StartTaskRow, store: Store, workspacesDir: string, clock: Clock): void {
  store.startTasks.update(task.id, { status: 'ERROR', detail: CUT_OFF, updated_at: clock.stamp() });
  const conversation = store.conversations.get(task.conversation_id);
  if (conversation?.start_state === 'ready') return;
  store.pendingMessages.drop(task.conversation_id);
  if (conversation !== null) {
    const change = { start_state: 'failed' as const, start_detail: CUT_OFF, sandbox_id: null };
    store.conversations.update(conversation.id, change);
  }
  const { sandbox_id: sandboxId } = task;
  if (sandboxId === null || task.request.sandbox_id != null) return;
  if (store.conversations.ofSandbox(sandboxId).length > 0) return;
  store.sandboxes.remove(sandboxId);
  removeTreeSync(path.join(workspacesDir, sandboxId));
}

/** A worker ends with its service; one that hangs is killed, and so is what escaped from it. */
function endLeftovers(row: SandboxRow, log: (line: string) => void): void {
  if (row.worker_pid !== null && isAlive({ pid: row.worker_pid, start: row.worker_start })) {
    log(`sandbox ${row.id}: its worker (pid ${row.worker_pid}) outlived the service and is ended`);
    sendSignal(-row.worker_pid, 'SIGKILL');
    awaitEnd({ pid: row.worker_pid, start: row.worker_start }, KILL_TIMEOUT_MS);
  }
  const reaped = row.worker_pid === null ? 0 : reapLeftovers(row.id);
  if (reaped > 0) log(`sandbox ${row.id}: ended ${reaped} processes that had been left behind`);
}

/** A worker that was killed with the service, or that the service did not come to speak for, has left its runs open. */
function endRuns({ id, status, worker_pid, status_detail }: SandboxRow, options: RecoverOptions): void {
  const { store, paths, clock, log } = options;
  if (status === 'PAUSED' && worker_pid === null) return;
  const why = status_detail ?? 'its worker ended unexpectedly';
  const how: CutOff = status === 'ERROR' ? { end: 'failed', why } : { end: 'paused' };
  endCutOffRuns(path.join(paths.events, id), how, {
    clock,
    log,
    onConversation: ({ conversation_id, execution_status, metrics, updated_at }) => {
      store.conversations.update(conversation_id, { execution_status, metrics, updated_at });
    },
  });
}

function readConversations(sandboxId: string, store: Store, eventsDir: string): void {
  for (const { id } of store.conversations.ofSandbox(sandboxId)) {
    const inLog = stateInLog(path.join(eventsDir, sandboxId), id);
    if (inLog === null) continue;
    const { title: _, ...told } = inLog; // the one in the store may have been given by the user
    // Nothing runs while its sandbox is paused; the worker that wakes it says what it does then.
    const execution_status = told.execution_status === 'running' ? 'paused' : told.execution_status;
    store.conversations.update(id, { ...told, execution_status });
  }
}
