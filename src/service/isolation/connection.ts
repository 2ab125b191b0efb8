/** A command may write to the helper's output: an invalid frame ends the helper. */
import type { ChildProcess } from 'node:child_process';
import * as v from 'valibot';
import { firstLine } from './detect.ts';
import { LineReader } from './inside/lines.ts';
import { FAILURE_CODES, LONGEST_LINE, type Operation, type Operations } from './protocol.ts';
import { cut } from '../../base/text/well-formed.ts';

/** `code`: of protocol.ts, or `gone` when the process ended before it answered. */
export class IsolationError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** For `catch`: the value of `then` in place of a refusal with this code. */
export function onRefusal<Value>(code: string, then: (error: IsolationError) => Value) {
  return (error: unknown): Value => {
    if (error instanceof IsolationError && error.code === code) return then(error);
    throw error;
  };
}

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const folder = v.pipe(v.string(), v.startsWith('/'), v.maxLength(64 * 1024));
const nothing = v.strictObject({});

const frame = v.variant('type', [
  v.strictObject({
    type: v.literal('output'),
    id: count,
    stream: v.picklist(['stdout', 'stderr']),
    data: v.string(),
  }),
  v.strictObject({ type: v.literal('result'), id: count, result: v.unknown() }),
  v.strictObject({
    type: v.literal('failure'),
    id: count,
    failure: v.strictObject({ code: v.picklist(FAILURE_CODES), message: v.string() }),
  }),
]);

const RESULTS: {
  [K in Operation]: (
    takes: Operations[K]['takes'],
  ) => v.GenericSchema<unknown, Operations[K]['gives']>;
} = {
  run: () =>
    v.strictObject({
      exitCode: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255)),
      pid: v.pipe(v.number(), v.safeInteger(), v.minValue(-1)),
    }),
  signal: () => nothing,
  read: (takes) =>
    'run' in takes
      ? nothing
      : v.strictObject({
          data: v.pipe(v.string(), v.maxLength(4 * Math.ceil(takes.length / 3))),
          size: count,
        }),
  write: () => nothing,
  list: () =>
    v.strictObject({
      entries: v.array(v.strictObject({ name: v.string(), isFolder: v.boolean() })),
    }),
};

/** The piece that fills the window may exceed it, once for each stream. */
const LARGEST_PIECES = 2 * 64 * 1024;

export type OutputListener = (stream: 'stdout' | 'stderr', data: Buffer) => void;

const started = v.strictObject({ workingDir: folder });

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  onOutput?: OutputListener | undefined;
  /** Bytes of output that may still come. */
  room: number;
  schema: v.GenericSchema;
}

export class IsolationConnection {
  readonly #child: ChildProcess;
  /** Keys are the numbers of requests. */
  readonly #pending = new Map<number, Pending>();
  #next = 1;
  #stderr = '';
  /** Why it has ended. */
  gone: IsolationError | null = null;
  /** The first folder, as seen inside. Rejects when the process ends before it has started. */
  readonly ready: Promise<v.InferOutput<typeof started>>;
  readonly ended: Promise<void>;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ready = this.#answerTo(0, { schema: started, room: 0 });
    this.ready.catch(() => undefined);
    this.ended = new Promise((resolve) => {
      const end = (why: string): void => {
        this.#end(why);
        resolve();
      };
      child.once('error', (error) => end(error.message));
      child.once('close', (code, signal) => {
        end(firstLine(this.#stderr) || `ended with ${signal ?? `exit code ${code}`}`);
      });
    });
    const reader = new LineReader((line) => {
      this.#receive(line);
    }, LONGEST_LINE);
    child.stdout?.on('data', (chunk: Buffer) => {
      if (this.gone !== null) return;
      try {
        reader.push(chunk);
      } catch (error) {
        this.#end(`its helper sent a frame that is not valid: ${(error as Error).message}`);
        child.kill('SIGKILL');
      }
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = cut(this.#stderr + chunk.toString('utf8'), -4096);
    });
    child.stdin?.on('error', () => undefined);
  }

  /** `id`: the number of the request, and of the run that it starts. */
  ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    onOutput?: OutputListener,
  ): { id: number; answer: Promise<Operations[K]['gives']> } {
    const id = this.#next;
    this.#next += 1;
    if (this.gone !== null) return { id, answer: Promise.reject(this.gone) };
    const room = 'window' in parameters ? parameters.window + LARGEST_PIECES : 0;
    const schema = RESULTS[op](parameters);
    const answer = this.#answerTo<Operations[K]['gives']>(id, { onOutput, room, schema });
    this.#child.stdin?.write(`${JSON.stringify({ ...parameters, id, op })}\n`);
    return { id, answer };
  }

  #answerTo<Result>(id: number, expected: Omit<Pending, 'resolve' | 'reject'>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const settle = resolve as (result: unknown) => void;
      this.#pending.set(id, { ...expected, resolve: settle, reject });
    });
  }

  grant(run: number, bytes: number): void {
    const pending = this.#pending.get(run);
    if (pending === undefined) return;
    pending.room += bytes;
    this.ask('read', { run, bytes }).answer.catch(() => undefined);
  }

  close(): void {
    this.#child.stdin?.end();
  }

  #receive(line: string): void {
    if (this.gone !== null) return;
    const answer = v.parse(frame, JSON.parse(line), { abortEarly: true });
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) throw new Error(`there is no request ${answer.id}`);
    if (answer.type === 'output') {
      const data = Buffer.from(answer.data, 'base64');
      pending.room -= data.length;
      if (pending.room < 0) throw new Error('more output than was requested');
      pending.onOutput?.(answer.stream, data);
      return;
    }
    if (answer.type === 'result' && !v.is(pending.schema, answer.result)) {
      throw new Error(`the result of ${answer.id} has another shape`);
    }
    this.#pending.delete(answer.id);
    if (answer.type === 'result') pending.resolve(answer.result);
    else pending.reject(new IsolationError(answer.failure.code, answer.failure.message));
  }

  #end(why: string): void {
    if (this.gone !== null) return;
    this.gone = new IsolationError('gone', why);
    for (const pending of this.#pending.values()) pending.reject(this.gone);
    this.#pending.clear();
  }
}
