/** Recovery from the previous service, which may have been killed at any moment. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { endCutOffRuns, type CutOff } from '../sandboxes/cut-off-runs.ts';
import { removeTreeSync } from '../sandboxes/remove-tree.ts';
import { reapLeftovers } from '../isolation/processes.ts';
import type { Store } from '../storage/index.ts';
import type { StartTaskRow } from '../storage/start-tasks.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';
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
const SANDBOX_ID = /^[0-9A-Za-z]{22}$/;
const CUT_OFF = 'the service was stopped while this conversation was being started';

/**
 * Ends what the service before left running, writes what ran as PAUSED and what was being started as ERROR, and reads
 * the state of conversations from their logs, which are never behind.
 */
export function recover(options: RecoverOptions): void {
  const { store, paths, clock, log } = options;
  for (const folder of [paths.workspaces, paths.events]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(paths.staging, { recursive: true, force: true, maxRetries: 3 });
  const rows = store.sandboxes.all();
  for (const row of rows) endLeftovers(row, log);
  // Written at once: each write of its own waits for the disk, and there may be thousands.
  store.transaction(() => {
    for (const row of rows) settle(row, options);
    for (const id of store.conversations.sandboxesOfUnknown()) takeOver(id, { end: 'paused' }, options);
  });
  for (const task of store.startTasks.unfinished()) giveUp(task, store, paths.workspaces, clock);
  for (const name of readdirSync(paths.workspaces)) {
    // Created for a sandbox that was never stored. Folders with another form of name are not the service's.
    if (SANDBOX_ID.test(name) && store.sandboxes.get(name) === null) removeTreeSync(path.join(paths.workspaces, name));
  }
}

/** Ends an interrupted start, and deletes the sandbox that was created for it. */
function giveUp(task: StartTaskRow, store: Store, workspacesDir: string, clock: Clock): void {
  store.startTasks.update(task.id, { status: 'ERROR', detail: CUT_OFF, updated_at: clock.stamp() });
  const conversation = store.conversations.get(task.conversation_id);
  if (conversation?.start_state === 'ready') return;
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

/** A worker ends with its service; one that hangs is killed, and so are remaining processes of its sandbox. */
function endLeftovers(row: SandboxRow, log: (line: string) => void): void {
  const { worker_pid: pid, worker_start: start } = row;
  // Without its start time the pid may belong to any process, and a pid below 2 names more than one process.
  if (pid !== null && pid > 1 && start !== null && isAlive({ pid, start })) {
    log(`sandbox ${row.id}: its worker (pid ${pid}) outlived the service and is ended`);
    sendSignal(-pid, 'SIGKILL');
    awaitEnd({ pid, start }, KILL_TIMEOUT_MS);
  }
  const reaped = pid === null ? 0 : reapLeftovers(row.id);
  if (reaped > 0) log(`sandbox ${row.id}: ended ${reaped} processes that had been left behind`);
}

/**
 * Writes a sandbox that was up as PAUSED, and takes over what its logs say where its worker was killed with the service
 * or the service did not come to write what it reported.
 */
function settle(row: SandboxRow, options: RecoverOptions): void {
  const { id, status, worker_pid } = row;
  if (status === 'PAUSED' && worker_pid === null) return;
  const why = row.status_detail ?? 'its worker ended unexpectedly';
  takeOver(id, status === 'ERROR' ? { end: 'failed', why } : { end: 'paused' }, options);
  const wasUp = status === 'RUNNING' || status === 'STARTING';
  if (!wasUp && worker_pid === null) return;
  options.store.sandboxes.update(id, { ...(wasUp ? { status: 'PAUSED' } : {}), worker_pid: null, worker_start: null });
}

/** Ends the runs that a worker left open, and writes what the logs say of the other conversations of its sandbox. */
function takeOver(sandboxId: string, how: CutOff, { store, paths, clock, log }: RecoverOptions): void {
  endCutOffRuns(path.join(paths.events, sandboxId), how, {
    clock,
    log,
    store,
    // Without the title: the one in the store may have been given by the user.
    onConversation: ({ conversation_id, execution_status, metrics, updated_at }) => {
      store.conversations.update(conversation_id, { execution_status, metrics, updated_at });
    },
  });
}
