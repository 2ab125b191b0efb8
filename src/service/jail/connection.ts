/** One running `inside.js`, and the questions put to it over its stdio. */
import type { ChildProcess } from 'node:child_process';
import { firstLine } from './detect.ts';
import { LineReader } from './inside/lines.ts';
import { type Answer, LONGEST_LINE, type Operation, type Operations } from './protocol.ts';

/** A refusal of `inside.ts`; `code` as in protocol.ts, `gone` when the process ended before it answered. */
export class JailError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  onOutput: ((stream: 'stdout' | 'stderr', text: string) => void) | undefined;
}

export class JailConnection {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #hello: Promise<string>;
  #sayHello: (workingDir: string) => void = () => undefined;
  #next = 1;
  #stderr = '';
  #gone: JailError | null = null;
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
      try {
        reader.push(chunk);
      } catch {
        child.kill('SIGKILL');
      }
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-4096);
    });
    child.stdin?.on('error', () => undefined);
  }

  /** Why it ended; null while it lives. */
  get gone(): string | null {
    return this.#gone === null ? null : this.#gone.message;
  }

  /** The first folder, as seen inside. Rejects when the process ends before it is up. */
  async ready(): Promise<string> {
    const workingDir = await Promise.race([this.#hello, this.ended.then(() => null)]);
    if (workingDir === null) throw this.#gone ?? new JailError('gone', 'ended at once');
    return workingDir;
  }

  /** Puts a question. Its number is handed out first, for those that may want to end it. */
  ask<K extends Operation>(
    op: K,
    parameters: Operations[K]['takes'],
    onOutput?: Pending['onOutput'],
  ): { id: number; answer: Promise<Operations[K]['gives']> } {
    const id = this.#next;
    this.#next += 1;
    const answer = new Promise<Operations[K]['gives']>((resolve, reject) => {
      if (this.#gone !== null) {
        reject(this.#gone);
        return;
      }
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject, onOutput });
      this.#child.stdin?.write(`${JSON.stringify({ ...parameters, id, op })}\n`);
    });
    return { id, answer };
  }

  /** Tells the process to end by closing its stdin. */
  close(): void {
    this.#child.stdin?.end();
  }

  #receive(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line) as Answer;
    } catch {
      return;
    }
    if (answer.type === 'hello') {
      this.#sayHello(answer.workingDir);
      return;
    }
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return;
    if (answer.type === 'output') {
      pending.onOutput?.(answer.stream, answer.text);
      return;
    }
    this.#pending.delete(answer.id);
    if (answer.type === 'result') pending.resolve(answer.result);
    else pending.reject(new JailError(answer.failure.code, answer.failure.message));
  }

  #end(why: string): void {
    if (this.#gone !== null) return;
    this.#gone = new JailError('gone', why);
    for (const pending of this.#pending.values()) pending.reject(this.#gone);
    this.#pending.clear();
  }
}
