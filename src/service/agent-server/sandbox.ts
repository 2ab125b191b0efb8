/**
 * The isolation for the parts of the worker: started when first needed, restarted when a command has ended it, and
 * closed for requests while the sandbox is paused.
 */
import path from 'node:path';
import { type IsolationConnection, IsolationError } from '../isolation/connection.ts';
import { type StartedIsolation, startIsolation } from '../isolation/isolation.ts';
import type { ExecParameters, Operation, Operations, RunEnd, RunParameters } from '../isolation/protocol.ts';
import type { WorkerConfig } from '../sandboxes/worker-protocol.ts';

/** Where recorded trajectories of genuine servers have their workspace. */
const RECORDED_ROOTS = ['/workspace/project', '/workspace'];

/** How long a pause waits for a helper that does not answer. */
const PING_MS = 1000;
/** How long a helper may take to end a command. */
const KILL_MS = 5000;
/** How long any other request may take. */
const OPERATION_MS = 120_000;
/** How often the running time of a request is counted. */
const TICK_MS = 250;

export interface RunOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
}

/** How a command ended. `exitCode` is -1, too, when `timedOut`. */
export interface RunResult extends RunEnd {
  timedOut: boolean;
}

export class Sandbox {
  readonly #config: WorkerConfig;
  readonly #countdowns = new Countdowns();
  #isolation: Promise<StartedIsolation>;
  #live: StartedIsolation | null = null;
  #closed = false;
  #gate: Gate | null = null;

  /** Starts the isolation at once. */
  constructor(config: WorkerConfig) {
    this.#config = config;
    this.#isolation = this.#start();
  }

  /** Where the workspace is inside. Rejects when the isolation cannot be started. */
  async ready(): Promise<string> {
    return (await this.#isolation).workingDir;
  }

  /**
   * One request other than a command. The signal, and the end of its time, end everything inside.
   * @throws IsolationError
   */
  async ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    signal?: AbortSignal,
  ): Promise<Operations[K]['gives']> {
    const isolation = await this.#connected();
    const { answer } = isolation.connection.ask(op, parameters);
    return this.#within(isolation, answer, { timeoutMs: OPERATION_MS, signal, onEnd: () => undefined });
  }

  /**
   * Runs a command. The signal, and the end of its time, end it with everything it started; everything inside is ended
   * when the helper does not do that.
   * @throws IsolationError
   */
  async run(parameters: RunParameters, { timeoutMs, signal, onOutput }: RunOptions): Promise<RunResult> {
    const isolation = await this.#connected();
    const { id, answer } = isolation.connection.ask('run', parameters, onOutput);
    let timedOut = false;
    const onEnd = (why: 'time' | 'signal'): void => {
      timedOut ||= why === 'time';
      isolation.connection.ask('kill', { run: id }).answer.catch(() => undefined);
    };
    try {
      const end = await this.#within(isolation, answer, { timeoutMs, signal, onEnd });
      return { ...end, timedOut, exitCode: timedOut ? -1 : end.exitCode };
    } catch (error) {
      if (!timedOut || !(error instanceof IsolationError)) throw error;
      return { ...NO_END, cwd: isolation.workingDir, timedOut, stderr: 'Everything in the sandbox was ended.' };
    }
  }

  /**
   * Runs a program without a limit of time. `onOutput` gets base64.
   * @throws IsolationError
   */
  async exec(
    parameters: ExecParameters,
    onOutput: (stream: 'stdout' | 'stderr', data: string) => void,
  ): Promise<RunningProgram> {
    const { connection } = await this.#connected();
    const { id, answer } = connection.ask('exec', parameters, onOutput);
    return { run: id, connection, ended: answer };
  }

  /** The answer, for which the helper has its time and then `KILL_MS`; after that the whole isolation is ended. */
  async #within<Result>(
    isolation: StartedIsolation,
    answer: Promise<Result>,
    limits: { timeoutMs: number; signal: AbortSignal | undefined; onEnd: (why: 'time' | 'signal') => void },
  ): Promise<Result> {
    const stops: (() => void)[] = [];
    const end = (why: 'time' | 'signal') => (): void => {
      limits.onEnd(why);
      stops.push(this.#countdowns.start(KILL_MS, () => void isolation.end().catch(() => undefined)));
    };
    const onSignal = end('signal');
    stops.push(this.#countdowns.start(limits.timeoutMs, end('time')));
    if (limits.signal?.aborted) onSignal();
    limits.signal?.addEventListener('abort', onSignal, { once: true });
    try {
      return await answer;
    } finally {
      limits.signal?.removeEventListener('abort', onSignal);
      for (const stop of stops) stop();
    }
  }

  /** The path in this workspace for a path of a recorded trajectory, relative to the working directory. */
  rebase(recorded: string, workingDir: string): string {
    if (!path.isAbsolute(recorded) || isWithin(recorded, workingDir)) return recorded;
    const root = RECORDED_ROOTS.find((folder) => isWithin(recorded, folder));
    if (root === undefined) return recorded;
    const rest = path.relative(root, recorded);
    const name = path.basename(workingDir);
    return path.join(workingDir, rest === name || rest.startsWith(`${name}/`) ? rest.slice(name.length) : rest);
  }

  /**
   * Stops every process inside. Requests sent to the helper before have begun by then and are stopped with the rest;
   * later ones wait here.
   */
  async freeze(): Promise<void> {
    this.#gate ??= new Gate();
    this.#countdowns.hold(true);
    const ping = this.#live?.connection.ask('ping', {}).answer.catch(() => undefined);
    await Promise.race([ping, new Promise((resolve) => setTimeout(resolve, PING_MS).unref())]);
    this.#live?.freezer.freeze();
  }

  thaw(): void {
    this.#live?.freezer.thaw();
    this.#countdowns.hold(false);
    this.#gate?.release();
    this.#gate = null;
  }

  /** Ends every process inside, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    const isolation = this.#live ?? (await this.#isolation.catch(() => null));
    await isolation?.end();
  }

  async #connected(): Promise<StartedIsolation> {
    await this.#gate?.passed;
    let isolation = await this.#isolation;
    if (isolation.connection.gone !== null && !this.#closed) {
      // Several requests may find that it has ended; the first one restarts it.
      if (this.#live === isolation) this.#isolation = this.#restart(isolation);
      isolation = await this.#isolation;
    }
    if (this.#closed) throw new IsolationError('gone', 'the sandbox is closed');
    return isolation;
  }

  /** Starts the isolation again after it has ended. After a failure the next request tries again. */
  async #restart(before: StartedIsolation): Promise<StartedIsolation> {
    this.#live = null;
    try {
      return await this.#start();
    } catch (error) {
      this.#live = before;
      this.#isolation = Promise.resolve(before);
      throw new IsolationError('gone', (error as Error).message);
    }
  }

  async #start(): Promise<StartedIsolation> {
    const isolation = await startIsolation(this.#config);
    this.#live = isolation;
    return isolation;
  }
}

/** A program that `exec` has started; requests about it name the run. */
export interface RunningProgram {
  run: number;
  connection: IsolationConnection;
  ended: Promise<{ exitCode: number }>;
}

/** Of a command whose helper was ended with everything else. */
const NO_END: RunEnd = { exitCode: -1, killed: true, stdout: '', stderr: '', cwd: '', pid: -1 };

function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`);
}

/** Closed while the sandbox is paused. */
class Gate {
  readonly passed: Promise<void>;
  release: () => void = () => undefined;

  constructor() {
    this.passed = new Promise((resolve) => (this.release = resolve));
  }
}

/**
 * Counts the running time of a request to a sandbox, outside of it: no process inside can stop the count. The time
 * in which the sandbox is paused, or the machine is suspended, does not count.
 */
class Countdowns {
  #held = false;

  hold(held: boolean): void {
    this.#held = held;
  }

  /** Calls back after so many milliseconds of running time. Returns a function that cancels. */
  start(durationMs: number, onEnd: () => void): () => void {
    let left = durationMs;
    let last = performance.now();
    const tick = (): void => {
      const now = performance.now();
      // A gap longer than two ticks means that this process, or the machine, was suspended.
      if (!this.#held) left -= Math.min(now - last, 2 * TICK_MS);
      last = now;
      if (left > 0) return;
      clearInterval(timer);
      onEnd();
    };
    const timer = setInterval(tick, Math.max(1, Math.min(TICK_MS, durationMs)));
    return () => {
      clearInterval(timer);
    };
  }
}
