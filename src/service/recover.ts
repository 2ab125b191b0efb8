import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { endCutOffRuns, type CutOff } from './sandboxes/cut-off-runs.ts';
import { reapLeftovers, sandboxMark } from './isolation/processes.ts';
import type { Store } from './storage/index.ts';
import type { SandboxRow } from './storage/sandboxes.ts';
import type { Clock } from './lifecycle/clock.ts';
import type { dataPaths } from './lifecycle/data-dir.ts';
import { commandLineOf, isAlive, poll, sendSignal } from '../base/process.ts';

const CUT_OFF = 'the service was stopped while this conversation was being started';

/** Repairs the store after a service that was killed, from the logs, which are never behind. */
export async function recover(
  store: Store,
  paths: ReturnType<typeof dataPaths>,
  clock: Clock,
  log: (line: string) => void,
): Promise<void> {
  for (const folder of [paths.workspaces, paths.events])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(paths.staging, { recursive: true, force: true, maxRetries: 3 });
  const rows = store.sandboxes.all();
  // The rows of a copied data directory name the workers of the original, which have other marks.
  const marks = rows
    .filter(({ worker_pid }) => worker_pid !== null)
    .map(({ id }) => sandboxMark(id, path.join(paths.workspaces, id)));
  for (const row of rows) await endWorker(row, marks, log);
  const reaped = reapLeftovers(...marks);
  if (reaped > 0) log(`ended ${reaped} processes that sandboxes had left behind`);
  const readLogs = (sandboxId: string, how: CutOff): void => {
    endCutOffRuns(path.join(paths.events, sandboxId), how, {
      clock,
      log,
      store,
      // Without the title: the one in the store may have been given by the user.
      onConversation: ({ conversation_id, execution_status, metrics, updated_at }) => {
        store.conversations.update(conversation_id, { execution_status, metrics, updated_at });
      },
    });
  };
  // Written at once: each write of its own waits for the disk, and there may be thousands.
  store.transaction(() => {
    for (const { id, status, status_detail, worker_pid } of rows) {
      if (status === 'PAUSED' && worker_pid === null) continue;
      const hasFailed = status === 'ERROR';
      const why = status_detail ?? 'its worker ended unexpectedly';
      readLogs(id, hasFailed ? { end: 'failed', why } : { end: 'paused' });
      const change = { worker_pid: null, worker_start: null };
      store.sandboxes.update(id, { status: hasFailed ? status : 'PAUSED', ...change });
    }
    for (const id of store.conversations.sandboxesOfUnknown()) readLogs(id, { end: 'paused' });
    for (const { id, conversation_id } of store.startTasks.unfinished()) {
      const conversation = store.conversations.get(conversation_id);
      if (conversation?.start_state === 'starting') {
        const change = { start_state: 'failed', start_detail: CUT_OFF, sandbox_id: null } as const;
        store.conversations.update(conversation_id, change);
      }
      store.startTasks.update(id, { status: 'ERROR', detail: CUT_OFF, updated_at: clock.stamp() });
    }
  });
}

async function endWorker(
  { id, worker_pid: pid, worker_start: start }: SandboxRow,
  marks: string[],
  log: (line: string) => void,
): Promise<void> {
  // Without its start time the pid may be of any process, and one below 2 names more than one.
  if (pid === null || pid < 2 || start === null || !isAlive({ pid, start })) return;
  const commandLine = commandLineOf(pid);
  if (!marks.some((mark) => commandLine.includes(mark))) return;
  log(`sandbox ${id}: its worker (pid ${pid}) outlived the service and is ended`);
  sendSignal(-pid, 'SIGKILL');
  await poll(() => (isAlive({ pid, start }) ? null : true), 2000);
}
