import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { type IsolationConnection, IsolationError, type OutputListener } from './connection.ts';
import { type StartedIsolation, startIsolation } from './isolation.ts';
import type {
  Operation,
  Operations,
  ProgramSignal,
  ReadParameters,
  RunEnd,
  RunParameters,
} from './protocol.ts';
import type { WorkerConfig } from '../base/worker-protocol.ts';

/** The wait of a pause for a helper that does not answer. */
const PING_MS = 1000;
/** The time that a helper has to end a command. */
const KILL_MS = 5000;
const OPERATION_MS = 120_000;
const TICK_MS = 250;
const WINDOW = 1024 * 1024;

/** `exitCode` is -1 for a command that was ended, by its timeout or by the signal (`killed`). */
export interface RunResult extends RunEnd {
  timedOut: boolean;
  killed: boolean;
}

type ProgramParameters = Pick<RunParameters, 'argv' | 'cwd'> & Partial<RunParameters>;

/** Bytes of stdin in one frame to the helper, which answers when the program has taken them. */
const PIECE = 64 * 1024;

/** A program inside. Its owner grants the output that it has processed. */
export class RunningProgram {
  readonly ended: Promise<RunEnd>;
  readonly #connection: IsolationConnection;
  readonly #run: number;

  constructor(
    connection: IsolationConnection,
    program: ProgramParameters,
    onOutput: OutputListener,
  ) {
    const defaults = { env: {}, inherits: true, stdin: false, until: 'silent' } as const;
    const parameters = { ...defaults, window: WINDOW, ...program };
    const { id, answer } = connection.ask('run', parameters, onOutput);
    this.#connection = connection;
    this.#run = id;
    this.ended = answer;
  }

  grant(bytes: number): void {
    this.#connection.grant(this.#run, bytes);
  }

  /** Settles when the program has taken the data. */
  async write(data: Buffer): Promise<void> {
    const pieces = Array.from({ length: Math.ceil(data.length / PIECE) }, (_, index) =>
      data.subarray(index * PIECE, (index + 1) * PIECE),
    );
    await Promise.all(pieces.map((piece) => this.#write(piece.toString('base64'), false)));
  }

  closeStdin(): void {
    this.#write('', true).catch(() => undefined);
  }

  signal(signal: ProgramSignal): void {
    this.#connection.ask('signal', { run: this.#run, signal }).answer.catch(() => undefined);
  }

  #write(data: string, last: boolean) {
    return this.#connection.ask('write', { run: this.#run, data, last }).answer;
  }
}

/** Starts the isolation again when a command has ended it; requests wait during a pause. */
export class Sandbox {
  readonly #config: WorkerConfig;
  #isolation: Promise<StartedIsolation>;
  #live: StartedIsolation | null = null;
  #closed = false;
  #gate: { passed: Promise<void>; open: () => void } | null = null;

  constructor(config: WorkerConfig) {
    this.#config = config;
    this.#isolation = this.#start();
  }

  async folders(): Promise<Pick<StartedIsolation, 'workingDir' | 'scratch' | 'home' | 'bases'>> {
    return this.#connected();
  }

  /** An absolute path in the workspace where `file` is at the own path of a checkout. */
  inWorkspace(folder: string, file: string): string {
    const given = path.resolve(folder, file);
    const link = this.#config.mounts.find(
      ({ mode, target }) => mode === 'link' && `${given}/`.startsWith(`${target}/`),
    );
    return link === undefined ? given : link.source + given.slice(link.target.length);
  }

  /** The signal, and the end of its time, end everything inside. Throws IsolationError. */
  async ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    signal?: AbortSignal,
  ): Promise<Operations[K]['gives']> {
    const isolation = await this.#connected();
    const { answer } = isolation.connection.ask(op, parameters);
    return this.#within(isolation, answer, OPERATION_MS, signal);
  }

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
    parameters: ProgramParameters,
    {
      timeoutMs = OPERATION_MS,
      signal,
      onOutput,
    }: { timeoutMs?: number; signal?: AbortSignal; onOutput?: OutputListener } = {},
  ): Promise<RunResult> {
    const isolation = await this.#connected();
    const program = new RunningProgram(isolation.connection, parameters, (stream, data) => {
      onOutput?.(stream, data);
      program.grant(data.length);
    });
    let end: 'time' | 'signal' | null = null;
    const onEnd = (why: 'time' | 'signal'): void => {
      end ??= why;
      program.signal('SIGKILL');
    };
    const result = ({ pid, exitCode }: RunEnd): RunResult => ({
      pid,
      exitCode: end === null ? exitCode : -1,
      timedOut: end === 'time',
      killed: end !== null,
    });
    try {
      return result(await this.#within(isolation, program.ended, timeoutMs, signal, onEnd));
    } catch (error) {
      if (end !== 'time' || !(error instanceof IsolationError)) throw error;
      onOutput?.('stderr', Buffer.from('Everything in the sandbox was ended.'));
      return result({ exitCode: -1, pid: -1 });
    }
  }

  async start(parameters: ProgramParameters, onOutput: OutputListener): Promise<RunningProgram> {
    return new RunningProgram((await this.#connected()).connection, parameters, onOutput);
  }

  /** After its time and `KILL_MS` without an answer the whole isolation is ended. */
  async #within<Result>(
    isolation: StartedIsolation,
    answer: Promise<Result>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    onEnd?: (why: 'time' | 'signal') => void,
  ): Promise<Result> {
    const stops: (() => void)[] = [];
    const end = (why: 'time' | 'signal') => (): void => {
      onEnd?.(why);
      stops.push(this.countdown(KILL_MS, () => void isolation.end().catch(() => undefined)));
    };
    const onSignal = end('signal');
    stops.push(this.countdown(timeoutMs, end('time')));
    if (signal?.aborted) onSignal();
    signal?.addEventListener('abort', onSignal, { once: true });
    try {
      return await answer;
    } finally {
      signal?.removeEventListener('abort', onSignal);
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
    return () => clearInterval(timer);
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

  /** After a failure the next request tries again. */
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
