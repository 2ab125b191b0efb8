import path from 'node:path';
import type { Clock } from '../lifecycle/clock.ts';
import { startOf } from '../../base/process.ts';
import type { ReplayStep } from '../base/steps.ts';
import type { Store } from '../storage/index.ts';
import type { SandboxRow, SandboxStore } from '../storage/sandboxes.ts';
import type { FaultRule } from '../faults/schema.ts';
import type {
  ConversationNotice,
  Mount,
  SandboxLimits,
  SandboxSpecName,
  WorkerNotice,
} from '../base/worker-protocol.ts';
import { AgentClient, type AgentAnswer, type AgentRequest } from './agent-client.ts';
import { endCutOffRuns, type CutOff } from './cut-off-runs.ts';
import {
  assertResumable,
  assertSpecWorks,
  newSandbox,
  newSessionKey,
  type SpecChoice,
} from './specs.ts';
import { NO_LIMITS } from '../isolation/limits.ts';
import { Admission } from './admission.ts';
import { SandboxChanges } from './change-queue.ts';
import { useCache } from './caches.ts';
import { SandboxFolders } from './folders.ts';
import { WorkerProcess } from './worker-process.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface SupervisorOptions {
  store: Store;
  clock: Clock;
  root: string;
  specs: SpecChoice;
  limits?: SandboxLimits;
  workspacesDir: string;
  eventsDir: string;
  database: string;
  env: Readonly<Record<string, string | undefined>>;
  log(line: string): void;
  onConversation(sandboxId: string, notice: ConversationNotice): void;
  /** Environment of processes inside; read when a worker is started. */
  initialEnv(): Record<string, string>;
  faults: FaultRule[];
  defaultReplay: ReplayStep[] | null;
  /** Sandboxes that may run at once, 20 by default; one more pauses the longest idle, or waits. */
  maxRunning?: number;
  /** How long a sandbox is kept after its start and after its run, 10 s by default. */
  keepMs?: number;
}

export class SandboxUnavailable extends Error {
  override readonly name = 'SandboxUnavailable';
}

const COMMAND_TIMEOUT_MS = 15_000;
const STOPPED = 'the sandbox was stopped while its start waited for another one to become idle';

/**
 * Writes a change of status to the store before it reports it. A sandbox is up when its row says so
 * and it has a worker: after a full disk the row is behind until the next change.
 */
export class Supervisor {
  readonly folders: SandboxFolders;
  readonly #options: SupervisorOptions;
  readonly #client = new AgentClient();
  readonly #live = new Map<
    string,
    { worker: WorkerProcess; isPaused: boolean; isEnding: boolean }
  >();
  readonly #changes: SandboxChanges;
  readonly #admission: Admission;
  readonly #rows: SandboxStore;
  #isClosing = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#rows = options.store.sandboxes;
    this.folders = new SandboxFolders(options);
    const { maxRunning = 20, keepMs = 10_000 } = options;
    this.#changes = new SandboxChanges(
      () => new SandboxUnavailable('the sandbox was deleted'),
      () => this.#admission.next(),
    );
    this.#admission = new Admission({
      ...options,
      maxRunning,
      keepMs,
      running: () =>
        [...this.#live.keys()].filter(
          (id) => !this.#live.get(id)?.isPaused && !this.#changes.isGoingDown(id),
        ),
      isIdle: (id) => this.#changes.isIdle(id),
      refusal: (id) =>
        this.#isClosing || this.#changes.isGoingDown(id) ? new SandboxUnavailable(STOPPED) : null,
      evict: (id, why) => this.#changes.takeDown(id, () => this.#pauseNow(id, why)),
    });
  }

  /** `onStore` is in the same transaction. Throws SpecRefused. */
  create(
    named: SandboxSpecName | null,
    onStore?: (id: string) => void,
    mounts: Mount[] = [],
  ): SandboxRow {
    const { store, specs, clock } = this.#options;
    const spec = named ?? specs.byDefault;
    assertSpecWorks(spec, specs);
    const row = newSandbox(spec, clock.stamp(), named === null ? specs.warning : null, mounts);
    // Before its folders, so that no folder is without a row after a kill.
    store.transaction(() => {
      this.#rows.insert(row);
      onStore?.(row.id);
    });
    try {
      this.folders.make(row.id);
    } catch (error) {
      this.#rows.remove(row.id);
      this.folders.unmake(row.id);
      throw error;
    }
    return row;
  }

  /** Settles when the sandbox runs, waits for a place, or cannot be started. */
  start(id: string): Promise<unknown> {
    return new Promise((resolve) => {
      this.use(id, (running) => running, resolve)
        .catch((error: unknown) => this.#options.log(`sandbox ${id}: ${error}`))
        .finally(() => resolve(null));
    });
  }

  async #whenReady(id: string): Promise<SandboxRow> {
    await this.#live.get(id)?.worker.ready.catch((error: unknown) => {
      throw new SandboxUnavailable((error as Error).message);
    });
    const row = this.#rows.get(id);
    if (row === null) throw new SandboxUnavailable(`Sandbox not found: ${id}`);
    if (row.status === 'RUNNING') return row;
    throw new SandboxUnavailable(
      `Sandbox is ${row.status}${row.status_detail === null ? '' : `: ${row.status_detail}`}`,
    );
  }

  /** Pauses it after all earlier changes; settles when it is PAUSED. False: no such sandbox. */
  pause(id: string): Promise<boolean> {
    const pausing = this.#changes.takeDown(id, () => this.#pauseNow(id, null));
    this.#endSetUp(id);
    return pausing;
  }

  /** A pause waits for a start, and a start for the setup script. */
  #endSetUp(id: string): void {
    if (!this.#changes.isGoingDown(id)) return;
    this.#live
      .get(id)
      ?.worker.ask('end-setup', COMMAND_TIMEOUT_MS)
      .catch((error: unknown) => this.#options.log(`sandbox ${id}: ${(error as Error).message}`));
  }

  /** `evicted`: why it is paused for another; this is not done when a run is in progress. */
  async #pauseNow(id: string, evicted: string | null): Promise<boolean> {
    const row = this.#rows.get(id);
    if (row === null || row.status === 'PAUSED' || row.status === 'ERROR') return row !== null;
    const live = this.#live.get(id);
    await live?.worker.ready.catch(() => undefined);
    if (live !== undefined && this.#live.has(id) && !live.isPaused) {
      try {
        const command = evicted === null ? 'pause' : 'evict';
        const { type } = await live.worker.ask(command, COMMAND_TIMEOUT_MS);
        if (type === 'busy') return false;
        live.isPaused = true;
      } catch (error) {
        this.#options.log(`sandbox ${id}: ${(error as Error).message}`);
        await this.#end(id);
      }
    }
    this.#rows.update(id, { status: 'PAUSED', status_detail: evicted });
    return true;
  }

  /** Settles when the start has begun. False: no such sandbox. Throws SpecRefused. */
  async resume(id: string, named: string | null = null): Promise<boolean> {
    const row = this.#rows.get(id);
    if (row === null || (this.#isUp(row) && !this.#changes.isGoingDown(id))) return row !== null;
    return await new Promise((resolve, reject) => {
      const resuming = this.#changes.apply(id, () => {
        resolve(this.#beginResume(id, named));
        return this.#bringUp(id);
      });
      resuming.catch((error: unknown) => {
        this.#options.log(`sandbox ${id}: ${error}`);
        reject(error);
      });
    });
  }

  /**
   * Begins when the sandbox has a place; `onWait` gets the reason of a wait. A pause is applied
   * afterwards, a deletion aborts `deleted`. Throws SandboxUnavailable, SpecRefused.
   */
  use<Result>(
    id: string,
    work: (running: Promise<SandboxRow>, deleted: AbortSignal) => Promise<Result>,
    onWait?: (why: string) => void,
  ): Promise<Result> {
    return this.#changes.use(id, async (deleted) => {
      this.#beginResume(id, null);
      await this.#bringUp(id, onWait);
      this.#endSetUp(id);
      const running = this.#whenReady(id);
      running.catch(() => undefined);
      return await work(running, deleted);
    });
  }

  #isUp({ id, status }: SandboxRow): boolean {
    const isPaused = this.#live.get(id)?.isPaused ?? !this.#admission.isWaiting(id);
    return (status === 'RUNNING' || status === 'STARTING') && !isPaused;
  }

  #beginResume(id: string, named: string | null): boolean {
    const row = this.#rows.get(id);
    if (row === null || this.#isUp(row)) return row !== null;
    if (this.#isClosing) throw new SandboxUnavailable('the service is ending');
    assertResumable(row, named, this.#options.specs);
    const detail = row.status === 'STARTING' ? {} : { status_detail: null };
    this.#rows.update(id, { spec_id: row.isolation, status: 'STARTING', ...detail });
    return true;
  }

  /** Ends the sandbox and removes its workspace; its event logs stay. False: no such sandbox. */
  remove(id: string): Promise<boolean> {
    return this.#changes.remove(id, async () => {
      if (this.#rows.get(id) === null) return false;
      await this.#end(id);
      // The files first: on a full disk not even a deletion can be written before space is free.
      await this.folders.remove(id).catch((error: unknown) => {
        const why = cut((error as Error).message, 500);
        const status_detail = `its workspace could not be removed: ${why}`;
        this.#rows.update(id, { status: 'ERROR', status_detail });
        throw error;
      });
      return this.#rows.remove(id);
    });
  }

  subscribers(): number {
    return [...this.#live.values()].reduce((sum, { worker }) => sum + worker.subscribers, 0);
  }

  /** Sends a request to the agent server of a running sandbox. Rejects with SandboxUnavailable. */
  async send(id: string, request: AgentRequest): Promise<AgentAnswer> {
    const row = this.#rows.get(id);
    if (row?.status !== 'RUNNING' || row.port === null) {
      throw new SandboxUnavailable(`Sandbox is ${row?.status ?? 'MISSING'}`);
    }
    try {
      return await this.#client.send(row.port, row.session_api_key, request);
    } catch (error) {
      const { message } = error as Error;
      throw new SandboxUnavailable(`the agent server cannot be reached: ${message}`);
    }
  }

  /** Ends every worker. The next service writes what could not be written (recover.ts). */
  async close(): Promise<void> {
    const { store, log } = this.#options;
    this.#isClosing = true;
    this.#admission.next();
    await Promise.all([...this.#live.keys()].map((id) => this.#end(id)));
    try {
      store.transaction(() => {
        for (const { id, status, worker_pid } of this.#rows.all()) {
          if (worker_pid !== null) this.#rows.update(id, { worker_pid: null, worker_start: null });
          if (status === 'RUNNING' || status === 'STARTING')
            this.#rows.update(id, { status: 'PAUSED' });
        }
      });
    } catch (error) {
      log(`the end of the sandboxes could not be written: ${error}`);
    }
    this.#client.close();
  }

  configOf({ id, port, session_api_key, isolation, fell_back, mounts }: SandboxRow) {
    const { root, database, limits = NO_LIMITS, initialEnv, faults, defaultReplay } = this.#options;
    return {
      sandbox_id: id,
      session_api_key,
      spec: isolation,
      fell_back,
      port,
      root,
      workspace_dir: this.folders.workspace(id),
      mounts: mounts.map((mount) => ({ ...mount, source: this.#inDataDir(mount.source) })),
      events_dir: this.folders.events(id),
      database,
      initial_env: initialEnv(),
      limits,
      faults,
      default_replay: defaultReplay,
    };
  }

  #inDataDir(source: string): string {
    return path.resolve(this.#options.workspacesDir, '..', source);
  }

  /** A sandbox on a full disk starts without a new one. */
  #useCaches({ id, mounts }: SandboxRow): void {
    try {
      for (const { source } of mounts.filter((mount) => !path.isAbsolute(mount.source)))
        useCache(this.#inDataDir(source), this.#options.clock.now());
    } catch (error) {
      this.#options.log(`sandbox ${id} has no cache: ${error}`);
    }
  }

  /** A cache of a sandbox with a worker, by the name of its folder. */
  usesCache(name: string): boolean {
    return [...this.#live.keys()].some((id) =>
      this.#rows.get(id)?.mounts.some(({ source }) => path.basename(source) === name),
    );
  }

  #launch(row: SandboxRow): void {
    if (this.#isClosing) throw new SandboxUnavailable('the service is ending');
    const { env, log } = this.#options;
    const { id, session_api_key, status_detail } = row;
    const config = this.configOf(row);
    this.folders.make(id);
    if (row.isolation !== 'process') this.#useCaches(row);
    const worker = new WorkerProcess(config, env, {
      log,
      onNotice: (notice) => {
        const isWritten = this.#guarded(id, () => this.#receive(id, notice));
        if (!isWritten && notice.type === 'ready') worker.kill();
      },
      onEnd: (text) => {
        this.#guarded(id, () => this.#workerEnded(id, text, worker.pid));
      },
    });
    this.#live.set(id, { worker, isPaused: false, isEnding: false });
    try {
      const { pid } = worker;
      const process = { worker_pid: pid, worker_start: startOf(pid) };
      this.#rows.update(id, { session_api_key, status_detail, ...process });
    } catch (error) {
      this.#live.delete(id);
      worker.kill();
      throw error;
    }
  }

  /** An error while a notice is written, such as a full disk, does not end the service. */
  #guarded(id: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#options.log(`sandbox ${id}: what its worker reported could not be written: ${error}`);
      return false;
    }
  }

  #receive(id: string, notice: WorkerNotice): void {
    const { log, onConversation, clock } = this.#options;
    if (notice.type === 'conversation') {
      onConversation(id, notice);
      if (notice.execution_status !== 'running') this.#admission.next();
    }
    if (notice.type === 'warning' || notice.type === 'failed') log(`sandbox ${id}: ${notice.text}`);
    if (notice.type === 'warning') this.#rows.update(id, { status_detail: notice.text });
    if (notice.type !== 'ready') return;
    const { port, working_dir } = notice;
    this.#rows.update(id, { status: 'RUNNING', port, working_dir, last_active_at: clock.stamp() });
    this.#admission.next();
  }

  #workerEnded(id: string, text: string, pid: number): void {
    const live = this.#live.get(id);
    if (live === undefined || live.worker.pid !== pid) return;
    this.#live.delete(id);
    if (live.isEnding || this.#isClosing) return;
    this.#options.log(`sandbox ${id}: ${text}`);
    // The log first: a client that sees the sandbox in ERROR finds the reason of the run there.
    this.#cutOff(id, live.isPaused ? { end: 'paused' } : { end: 'failed', why: text });
    const status = live.isPaused ? 'PAUSED' : 'ERROR';
    this.#rows.update(id, { status, status_detail: text, worker_pid: null, worker_start: null });
    this.#admission.next();
  }

  async #bringUp(id: string, onWait?: (why: string) => void): Promise<void> {
    const row = this.#rows.get(id);
    if (row?.status !== 'STARTING' || this.#isUp(row)) return;
    // On the free port a command of another sandbox may have got the key of a client.
    const launch = (): void => this.#launch({ ...row, session_api_key: newSessionKey() });
    const begin = (): WorkerProcess | undefined => {
      const live = this.#live.get(id);
      if (live === undefined) launch();
      else live.isPaused = false;
      return live?.worker;
    };
    const paused = await this.#admission.enter(id, begin, (why) => {
      this.#rows.update(id, { status_detail: why });
      onWait?.(why);
    });
    if (paused === undefined) return;
    try {
      await paused.ask('resume', COMMAND_TIMEOUT_MS);
      const last_active_at = this.#options.clock.stamp();
      this.#rows.update(id, {
        status: 'RUNNING',
        status_detail: row.status_detail,
        last_active_at,
      });
    } catch (error) {
      this.#options.log(`sandbox ${id}: ${(error as Error).message}; it gets a new worker`);
      await this.#end(id);
      launch();
    }
  }

  async #end(id: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined) return;
    live.isEnding = true;
    await live.worker.stop();
    this.#live.delete(id);
    this.#cutOff(id, { end: 'paused' });
  }

  #cutOff(id: string, how: CutOff): void {
    endCutOffRuns(this.folders.events(id), how, {
      ...this.#options,
      onConversation: (notice) => this.#options.onConversation(id, notice),
    });
  }
}
