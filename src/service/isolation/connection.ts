/** One running `inside.js`, and the requests to it over its stdio. A frame that is not valid ends it. */
import type { ChildProcess } from 'node:child_process';
import * as v from 'valibot';
import { firstLine } from './detect.ts';
import { frame, type Frame, resultSchema } from './frames.ts';
import { LineReader } from './inside/lines.ts';
import { LONGEST_LINE, type Operation, type Operations } from './protocol.ts';

/** A refusal of `inside.ts`; `code` as in protocol.ts, `gone` when the process ended before it answered. */
export class IsolationError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  onOutput: OutputListener | undefined;
  /** How much may still come while the command runs: characters of each stream, or bytes of both. */
  room: Room;
  schema: v.GenericSchema;
}

type Room = { unit: 'characters'; stdout: number; stderr: number } | { unit: 'bytes'; both: number };

/** The text of a command as it is, the output of a program in base64. */
type OutputListener = (stream: 'stdout' | 'stderr', text: string) => void;

/** The helper has sent a frame that does not match the protocol. */
class InvalidFrame extends Error {}

export class IsolationConnection {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #hello: Promise<string>;
  #sayHello: ((workingDir: string) => void) | null = null;
  #next = 1;
  #stderr = '';
  #gone: IsolationError | null = null;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#hello = new Promise((resolve) => (this.#sayHello = resolve));
    this.ended = new Promise((resolve) => {
      const end = (why: string): void => {
        this.#end(why);
        resolve();
      };
      child.once('error', (error) => {
        end(error.message);
      });
      child.once('close', (code, signal) => {
        end(firstLine(this.#stderr) || `ended with ${signal ?? `exit code ${String(code)}`}`);
      });
    });
    const reader = new LineReader((line) => {
      this.#receive(line);
    }, LONGEST_LINE);
    child.stdout?.on('data', (chunk: Buffer) => {
      if (this.#gone !== null) return;
      try {
        reader.push(chunk);
      } catch (error) {
        this.#end(`its helper sent a frame that is not valid: ${(error as Error).message}`);
        child.kill('SIGKILL');
      }
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-4096);
    });
    child.stdin?.on('error', () => undefined);
  }

  /** Why it ended; null while it runs. */
  get gone(): string | null {
    return this.#gone === null ? null : this.#gone.message;
  }

  /** The first folder, as seen inside. Rejects when the process ends before it has started. */
  async ready(): Promise<string> {
    const workingDir = await Promise.race([this.#hello, this.ended.then(() => null)]);
    if (workingDir === null) throw this.#gone ?? new IsolationError('gone', 'ended at once');
    return workingDir;
  }

  /** Sends a request. Its number is returned at once, for those that may want to end it. */
  ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    onOutput?: OutputListener,
  ): { id: number; answer: Promise<Operations[K]['gives']> } {
    const id = this.#next;
    this.#next += 1;
    const answer = new Promise<Operations[K]['gives']>((resolve, reject) => {
      if (this.#gone !== null) {
        reject(this.#gone);
        return;
      }
      this.#pending.set(id, {
        resolve: resolve as (result: unknown) => void,
        reject,
        onOutput,
        room: onOutput === undefined ? NO_ROOM : roomFor(parameters),
        schema: resultSchema(op, parameters),
      });
      this.#child.stdin?.write(`${JSON.stringify({ ...parameters, id, op })}\n`);
    });
    return { id, answer };
  }

  /** Lets the program of an `exec` send so many bytes more. */
  allow(run: number, bytes: number): void {
    const room = this.#pending.get(run)?.room;
    if (room?.unit !== 'bytes') return;
    room.both += bytes;
    this.ask('exec_more', { run, bytes }).answer.catch(() => undefined);
  }

  /** Ends the process by closing its stdin. */
  close(): void {
    this.#child.stdin?.end();
  }

  #receive(line: string): void {
    if (this.#gone !== null) return;
    const answer = readFrame(line);
    if (answer.type === 'hello') {
      if (this.#sayHello === null) throw new InvalidFrame('a second hello');
      this.#sayHello(answer.workingDir);
      this.#sayHello = null;
      return;
    }
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) throw new InvalidFrame(`nothing was asked as ${String(answer.id)}`);
    if (answer.type === 'output') {
      if (!takeFrom(pending.room, answer)) throw new InvalidFrame('more output than was asked for');
      pending.onOutput?.(answer.stream, answer.text);
      return;
    }
    if (answer.type === 'result' && !v.is(pending.schema, answer.result)) {
      throw new InvalidFrame(`the result of ${String(answer.id)} has another shape`);
    }
    this.#pending.delete(answer.id);
    if (answer.type === 'result') pending.resolve(answer.result);
    else pending.reject(new IsolationError(answer.failure.code, answer.failure.message));
  }

  #end(why: string): void {
    if (this.#gone !== null) return;
    this.#gone = new IsolationError('gone', why);
    for (const pending of this.#pending.values()) pending.reject(this.#gone);
    this.#pending.clear();
  }
}

/** A stream is paused after the piece that has filled the window: of each stream one piece may be larger than it. */
const LARGEST_PIECES = 2 * 64 * 1024;

const NO_ROOM: Room = { unit: 'characters', stdout: 0, stderr: 0 };

function roomFor(parameters: Operations[Operation]['takes']): Room {
  if ('window' in parameters) return { unit: 'bytes', both: parameters.window + LARGEST_PIECES };
  if ('keepHead' in parameters) return { unit: 'characters', stdout: parameters.keepHead, stderr: parameters.keepHead };
  return NO_ROOM;
}

/** False when the room does not suffice. */
function takeFrom(room: Room, { stream, text }: { stream: 'stdout' | 'stderr'; text: string }): boolean {
  if (room.unit === 'bytes') return (room.both -= Buffer.byteLength(text, 'base64')) >= 0;
  return (room[stream] -= text.length) >= 0;
}

function readFrame(line: string): Frame {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new InvalidFrame('it is not JSON');
  }
  const read = v.safeParse(frame, value, { abortEarly: true });
  if (!read.success) throw new InvalidFrame('it has another shape');
  return read.output;
}
