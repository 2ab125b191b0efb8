/**
 * The supervisor of the sandboxes: starts their workers, watches them, and is the only way to their agent servers.
 * A change of status is written to the store before it is reported.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startOf } from '../lifecycle/process.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';
import type { ConversationNotice, SandboxSpecName } from './worker-protocol.ts';
import { createAgentClient, type AgentAnswer, type AgentRequest } from './agent-client.ts';
import { endCutOffRuns, type CutOff } from './cut-off-runs.ts';
import { requestedSandbox, withFolders, workerConfig } from './new-sandbox.ts';
import { removeTree } from './remove-tree.ts';
import { toEvict } from './eviction.ts';
import { assertResumable } from './specs.ts';
import { createSandboxChanges } from './change-queue.ts';
import {
  askSandbox,
  runningRow,
  SandboxUnavailable,
  type SandboxWork,
  type Supervisor,
  type SupervisorOptions,
} from './supervision.ts';
import { createSandboxStatusWriter, type SandboxStatusWriter } from './status-writer.ts';
import { guarded, inBackground, writeNotice } from './worker-notices.ts';
import { endWorker, startWorker, type WorkerProcess } from './worker-process.ts';

export { SandboxUnavailable, type Supervisor, type SupervisorOptions } from './supervision.ts';

interface Live {
  worker: WorkerProcess;
  /** The worker runs, and every process inside is stopped. */
  isPaused: boolean;
  /** Its end was requested. */
  isEnding: boolean;
}

const COMMAND_TIMEOUT_MS = 15_000;

export function createSupervisor(options: SupervisorOptions): Supervisor {
  return new SandboxSupervisor(options);
}

class SandboxSupervisor implements Supervisor {
  readonly #options: SupervisorOptions;
  readonly #client = createAgentClient();
  readonly #live = new Map<string, Live>();
  readonly #changes = createSandboxChanges(() => new SandboxUnavailable('the sandbox was deleted'));
  readonly #statuses: SandboxStatusWriter;
  #isClosing = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#statuses = createSandboxStatusWriter(options.store.sandboxes, options.log);
  }

  create(named: SandboxSpecName | null): SandboxRow {
    const row = requestedSandbox(named, this.#options.specs, this.#options.clock.stamp());
    withFolders([this.workspaceOf(row.id), this.eventsOf(row.id)], () => {
      this.#options.store.sandboxes.insert(row);
    });
    this.#evictExcess(row.id);
    this.#launch(row);
    return this.#options.store.sandboxes.get(row.id) ?? row;
  }

  async whenRunning(id: string): Promise<SandboxRow> {
    await this.#changes.last(id);
    return await this.#whenReady(id);
  }

  async #whenReady(id: string): Promise<SandboxRow> {
    await this.#live.get(id)?.worker.ready.catch((error: unknown) => {
      throw new SandboxUnavailable(error instanceof Error ? error.message : String(error));
    });
    return runningRow(this.#options.store.sandboxes.get(id), id);
  }

  pause(id: string): Promise<boolean> {
    return this.#changes.takeDown(id, () => this.#pauseNow(id, null));
  }

  async #pauseNow(id: string, detail: string | null): Promise<boolean> {
    const row = this.#options.store.sandboxes.get(id);
    if (row === null || row.status === 'PAUSED' || row.status === 'ERROR') return row !== null;
    const live = this.#live.get(id);
    await live?.worker.ready.catch(() => undefined);
    if (live !== undefined && this.#live.has(id)) await this.#freeze(id, live);
    this.#statuses.write(id, { status: 'PAUSED', status_detail: detail });
    return true;
  }

  async resume(id: string, named: string | null = null): Promise<boolean> {
    const row = this.#options.store.sandboxes.get(id);
    const isUp = row?.status === 'RUNNING' || row?.status === 'STARTING';
    // No queued change stops it: there is nothing to do, and nothing to wait for.
    if (row === null || (isUp && !this.#changes.isGoingDown(id))) return row !== null;
    return await new Promise((resolve, reject) => {
      const resuming = this.#changes.apply(id, () => {
        resolve(this.#beginResume(id, named));
        return this.#resumeWorker(id);
      });
      resuming.catch(reject);
      inBackground(id, this.#options.log, resuming);
    });
  }

  use<Result>(id: string, work: SandboxWork<Result>): Promise<Result> {
    return this.#changes.use(id, async (deleted) => {
      this.#beginResume(id, null);
      const awake = this.#resumeWorker(id);
      const running = awake.then(() => this.#whenReady(id));
      running.catch(() => undefined);
      try {
        return await work(running, deleted);
      } finally {
        await awake.catch(() => undefined);
      }
    });
  }

  /** Writes a sandbox that is down as STARTING. False: no such sandbox. */
  #beginResume(id: string, named: string | null): boolean {
    const { store, specs, clock } = this.#options;
    const row = store.sandboxes.get(id);
    if (row === null || row.status === 'RUNNING' || row.status === 'STARTING') return row !== null;
    if (this.#isClosing) throw new SandboxUnavailable('the service is ending');
    assertResumable(row, named, specs);
    const begun = { status: 'STARTING', status_detail: null, last_active_at: clock.stamp() } as const;
    store.sandboxes.update(id, { spec_id: row.isolation, ...begun });
    this.#evictExcess(id);
    return true;
  }

  remove(id: string): Promise<boolean> {
    return this.#changes.remove(id, async () => {
      // A worker without a row: its creation was undone.
      const isKnown = this.#options.store.sandboxes.get(id) !== null;
      if (!isKnown && !this.#live.has(id)) return false;
      await this.#end(id);
      // The files first: on a full disk not even a deletion can be written before space is free.
      await removeTree(this.workspaceOf(id));
      try {
        this.#options.store.sandboxes.remove(id);
      } catch (error) {
        this.#statuses.write(id, { status: 'PAUSED', status_detail: 'it could not be deleted altogether' });
        throw error;
      }
      return isKnown;
    });
  }

  subscribers(): number {
    return [...this.#live.values()].reduce((sum, { worker }) => sum + worker.subscribers, 0);
  }

  send(id: string, request: AgentRequest): Promise<AgentAnswer> {
    return askSandbox(this.#client, this.#options.store.sandboxes.get(id), request);
  }

  workspaceOf(id: string): string {
    return path.join(this.#options.workspacesDir, id);
  }

  eventsOf(id: string): string {
    return path.join(this.#options.eventsDir, id);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#live.keys()].map((id) => this.#end(id)));
    for (const row of this.#options.store.sandboxes.all()) {
      if (row.status === 'RUNNING' || row.status === 'STARTING') {
        this.#statuses.write(row.id, { status: 'PAUSED', worker_pid: null, worker_start: null });
      }
    }
    this.#statuses.close();
    this.#client.close();
  }

  /** Starts the worker of a sandbox that is STARTING. */
  #launch(row: SandboxRow): void {
    if (this.#isClosing) throw new SandboxUnavailable('the service is ending');
    const { root, env, log } = this.#options;
    const config = workerConfig(row, {
      root,
      workspace_dir: this.workspaceOf(row.id),
      events_dir: this.eventsOf(row.id),
      initial_env: this.#options.initialEnv?.() ?? {},
      faults: this.#options.faults ?? [],
      default_replay: this.#options.defaultReplay,
    });
    for (const dir of [config.workspace_dir, config.events_dir]) mkdirSync(dir, { recursive: true, mode: 0o700 });
    const worker = startWorker(config, env, {
      log,
      onNotice: (notice) => {
        guarded(row.id, log, () => {
          writeNotice(row.id, notice, { ...this.#options, statuses: this.#statuses });
        });
      },
      onEnd: (text) => {
        guarded(row.id, log, () => {
          this.#workerEnded(row.id, text, worker.pid);
        });
      },
    });
    this.#live.set(row.id, { worker, isPaused: false, isEnding: false });
    this.#statuses.write(row.id, { worker_pid: worker.pid, worker_start: startOf(worker.pid) });
  }

  /** A worker has ended: on request, or the sandbox is in ERROR and can be resumed in a new one. */
  #workerEnded(id: string, text: string, pid: number): void {
    const live = this.#live.get(id);
    if (live === undefined || live.worker.pid !== pid) return;
    this.#live.delete(id);
    if (live.isEnding || this.#isClosing) return;
    this.#options.log(`sandbox ${id}: ${text}`);
    const status = live.isPaused ? 'PAUSED' : 'ERROR';
    // The log first: a client that sees the sandbox in ERROR finds the reason of the run there.
    this.#cutOff(id, live.isPaused ? { end: 'paused' } : { end: 'failed', why: text });
    this.#statuses.write(id, { status, status_detail: text, worker_pid: null, worker_start: null });
  }

  async #freeze(id: string, live: Live): Promise<void> {
    try {
      await live.worker.ask('pause', COMMAND_TIMEOUT_MS);
      live.isPaused = true;
    } catch (error) {
      // A worker that cannot be paused is ended: the workspace and the logs are on the disk.
      this.#options.log(`sandbox ${id}: ${(error as Error).message}`);
      await this.#end(id);
    }
  }

  async #resumeWorker(id: string): Promise<void> {
    const row = this.#options.store.sandboxes.get(id);
    if (row?.status !== 'STARTING') return;
    const live = this.#live.get(id);
    if (live?.isPaused !== true) {
      if (live === undefined) this.#launch(row);
      return;
    }
    try {
      const notice = await live.worker.ask('resume', COMMAND_TIMEOUT_MS);
      live.isPaused = false;
      const port = notice.type === 'resumed' ? notice.port : row.port;
      this.#statuses.write(id, { status: 'RUNNING', port });
    } catch (error) {
      this.#options.log(`sandbox ${id}: ${(error as Error).message}; it gets a new worker`);
      await this.#end(id);
      this.#launch({ ...row, status: 'STARTING' });
      this.#statuses.write(id, { status: 'STARTING', status_detail: null });
    }
  }

  /** Ends the worker of a sandbox, by SIGKILL when it does not end in time. */
  async #end(id: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined) return;
    live.isEnding = true;
    await endWorker(live.worker);
    this.#live.delete(id);
    this.#cutOff(id, { end: 'paused' });
    this.#statuses.write(id, { worker_pid: null, worker_start: null });
  }

  /** A worker that ended on request has written and reported the end of its runs; one that was killed has not. */
  #cutOff(id: string, how: CutOff): void {
    const onConversation = (notice: ConversationNotice): void => this.#options.onConversation(id, notice);
    endCutOffRuns(this.eventsOf(id), how, { ...this.#options, onConversation });
  }

  #evictExcess(keep: string): void {
    const { store, maxRunning, log } = this.#options;
    for (const id of toEvict(store, keep, maxRunning).ids) inBackground(id, log, this.#evict(id, keep));
  }

  /** It may have become busy since: the choice is made again, and that one counts. */
  #evict(id: string, keep: string): Promise<void> {
    return this.#changes.takeDown(id, async () => {
      const { ids, detail } = toEvict(this.#options.store, keep, this.#options.maxRunning);
      if (ids.includes(id)) await this.#pauseNow(id, detail);
      else this.#evictExcess(keep);
    });
  }
}
