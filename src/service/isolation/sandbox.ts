/** Starts the isolation again when a command has ended it; requests wait during a pause. */
import { randomUUID } from 'node:crypto';
import { type IsolationConnection, IsolationError, type OutputListener } from './connection.ts';
import { type StartedIsolation, startIsolation } from './isolation.ts';
import type { Operation, Operations, ReadParameters, RunEnd, RunParameters } from './protocol.ts';
import type { WorkerConfig } from '../base/worker-protocol.ts';

/** How long a pause waits for a helper that does not answer. */
const PING_MS = 1000;
/** How long a helper may take to end a command. */
const KILL_MS = 5000;
const OPERATION_MS = 120_000;
const TICK_MS = 250;
/** Bytes of output on their way from a command. */
const WINDOW = 1024 * 1024;

/** `exitCode` is -1 for a command that was ended, by its timeout or by the signal (`killed`). */
export interface RunResult extends RunEnd {
  timedOut: boolean;
  killed: boolean;
}

export interface RunningProgram {
  run: number;
  connection: IsolationConnection;
  ended: Promise<RunEnd>;
}

export class Sandbox {
  readonly #config: WorkerConfig;
  #isolation: Promise<StartedIsolation>;
  #live: StartedIsolation | null = null;
  #closed = false;
  /** Not null while the sandbox is paused. */
  #gate: { passed: Promise<void>; open: () => void } | null = null;

  constructor(config: WorkerConfig) {
    this.#config = config;
    this.#isolation = this.#start();
  }

  /** Rejects when the isolation cannot be started. */
  async folders(): Promise<Pick<StartedIsolation, 'workingDir' | 'scratch' | 'home' | 'bases'>> {
    return this.#connected();
  }

  /** The signal, and the end of its time, end everything inside. Throws IsolationError. */
  async ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    signal?: AbortSignal,
  ): Promise<Operations[K]['gives']> {
    const isolation = await this.#connected();
    const { answer } = isolation.connection.ask(op, parameters);
    return this.#within(isolation, answer, {
      timeoutMs: OPERATION_MS,
      signal,
      onEnd: () => undefined,
    });
  }

  /** @throws IsolationError */
  async readChunk(
    chunk: ReadParameters,
    signal?: AbortSignal,
  ): Promise<{ data: Buffer; size: number }> {
    const { data = '', size = 0 } = await this.ask('read', chunk, signal);
    return { data: Buffer.from(data, 'base64'), size };
  }

  /** A whole file, up to `largest` bytes. Throws IsolationError. */
  async readFile(path: string, largest: number, signal?: AbortSignal): Promise<Buffer> {
    const token = randomUUID();
    const { data, size } = await this.readChunk(
      { path, token, offset: 0, length: largest },
      signal,
    );
    if (size <= largest) return data;
    await this.readChunk({ path, token, offset: 0, length: 0 }, signal);
    throw new IsolationError('invalid', `${path} is larger than ${largest} bytes.`);
  }

  /** The signal, or its timeout, ends the program and all it started. Throws IsolationError. */
  async run(
    program: Pick<RunParameters, 'argv' | 'cwd'> & Partial<RunParameters>,
    {
      timeoutMs = OPERATION_MS,
      signal,
      onOutput,
    }: { timeoutMs?: number; signal?: AbortSignal; onOutput: OutputListener },
  ): Promise<RunResult> {
    const isolation = await this.#connected();
    const { connection } = isolation;
    const defaults = {
      env: {},
      inherits: true,
      stdin: false,
      until: 'silent',
      window: WINDOW,
    } as const;
    const { id, answer } = connection.ask('run', { ...defaults, ...program }, (stream, data) => {
      onOutput(stream, data);
      connection.grant(id, data.length);
    });
    let ended: 'time' | 'signal' | null = null;
    const onEnd = (why: 'time' | 'signal'): void => {
      ended ??= why;
      connection.ask('signal', { run: id, signal: 'SIGKILL' }).answer.catch(() => undefined);
    };
    const result = (end: RunEnd): RunResult => ({
      pid: end.pid,
      exitCode: ended === null ? end.exitCode : -1,
      timedOut: ended === 'time',
      killed: ended !== null,
    });
    try {
      return result(await this.#within(isolation, answer, { timeoutMs, signal, onEnd }));
    } catch (error) {
      if (ended !== 'time' || !(error instanceof IsolationError)) throw error;
      onOutput('stderr', Buffer.from('Everything in the sandbox was ended.'));
      return result({ exitCode: -1, pid: -1 });
    }
  }

  /** Starts a program without a timeout, whose output the caller grants. */
  async start(parameters: RunParameters, onOutput: OutputListener): Promise<RunningProgram> {
    const { connection } = await this.#connected();
    const { id, answer } = connection.ask('run', parameters, onOutput);
    return { run: id, connection, ended: answer };
  }

  /** After its time and `KILL_MS` without an answer the whole isolation is ended. */
  async #within<Result>(
    isolation: StartedIsolation,
    answer: Promise<Result>,
    limits: {
      timeoutMs: number;
      signal: AbortSignal | undefined;
      onEnd: (why: 'time' | 'signal') => void;
    },
  ): Promise<Result> {
    const stops: (() => void)[] = [];
    const end = (why: 'time' | 'signal') => (): void => {
      limits.onEnd(why);
      stops.push(this.countdown(KILL_MS, () => void isolation.end().catch(() => undefined)));
    };
    const onSignal = end('signal');
    stops.push(this.countdown(limits.timeoutMs, end('time')));
    if (limits.signal?.aborted) onSignal();
    limits.signal?.addEventListener('abort', onSignal, { once: true });
    try {
      return await answer;
    } finally {
      limits.signal?.removeEventListener('abort', onSignal);
      for (const stop of stops) stop();
    }
  }

  /** Counts running time only, without pauses and suspensions. Returns a function that cancels. */
  countdown(durationMs: number, onEnd: () => void): () => void {
    let left = durationMs;
    let last = performance.now();
    const timer = setInterval(
      () => {
        const now = performance.now();
        // A gap longer than two ticks means that this process, or the machine, was suspended.
        if (this.#gate === null) left -= Math.min(now - last, 2 * TICK_MS);
        last = now;
        if (left > 0) return;
        clearInterval(timer);
        onEnd();
      },
      Math.max(1, Math.min(TICK_MS, durationMs)),
    );
    return () => {
      clearInterval(timer);
    };
  }

  /** Requests sent to the helper before are stopped with the rest; later ones wait here. */
  async freeze(): Promise<void> {
    if (this.#gate === null) {
      let open = (): void => undefined;
      const passed = new Promise<void>((resolve) => (open = resolve));
      this.#gate = { passed, open };
    }
    // The helper begins requests in their order. No run has the number 0.
    const begun = this.#live?.connection
      .ask('signal', { run: 0, signal: 'SIGTERM' })
      .answer.catch(() => undefined);
    await Promise.race([begun, new Promise((resolve) => setTimeout(resolve, PING_MS).unref())]);
    this.#live?.freeze();
  }

  thaw(): void {
    this.#live?.thaw();
    this.#gate?.open();
    this.#gate = null;
  }

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

  /**
   * Starts the isolation again after it has ended. After a failure the next request tries again.
   */
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
