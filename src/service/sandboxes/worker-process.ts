import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { nodeExecutable, sendSignal } from '../../base/process.ts';
import { withParentDeathSignal } from '../isolation/parent-death-signal.ts';
import { sandboxMark } from '../isolation/processes.ts';
import type { WorkerCommand, WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface WorkerEvents {
  onNotice(notice: WorkerNotice): void;
  onEnd(text: string): void;
  log(line: string): void;
}

export class WorkerProcess {
  readonly pid: number;
  subscribers = 0;
  /** Settles after `ready` was passed on. Rejects when the worker ends before, or is late. */
  readonly ready: Promise<unknown>;
  readonly ended: Promise<void>;
  readonly #child;
  readonly #waiting = new Map<
    string,
    { resolve(notice: WorkerNotice): void; reject(error: Error): void }
  >();
  #failure: string | null = null;
  #isEnded = false;

  /** Starts `node dist/worker.js <mark>` in an own process group, which no Ctrl-C reaches. */
  constructor(
    config: WorkerConfig,
    env: Readonly<Record<string, string | undefined>>,
    events: WorkerEvents,
  ) {
    // The next service recognises the worker by the mark; the worker reads no argument.
    const mark = sandboxMark(config.sandbox_id, config.workspace_dir);
    const command = [nodeExecutable(), path.join(config.root, 'dist', 'worker.js'), mark];
    const { file, args } = withParentDeathSignal('CONT', command);
    // Neither a worker nor its agent gets the keys of servers.
    const withoutKeys = Object.entries(env).filter(([name]) => !/^(?:ACS|OPENHANDS)_/.test(name));
    const child = spawn(file, args, {
      // PATH and NODE_OPTIONS may have relative paths, which must not lead to the workspace.
      cwd: '/',
      detached: true,
      env: Object.fromEntries(withoutKeys),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.pid = child.pid ?? -1;
    child.stdin.on('error', () => undefined);
    child.stdin.write(`${JSON.stringify(config)}\n`);
    this.ready = this.#answerTo('ready', 30_000, 'the worker did not become ready in time');
    this.ready.catch(() => this.kill());
    createInterface({ input: child.stdout }).on('line', (line) => {
      const notice = parseNotice(line);
      if (notice === null)
        events.log(`a worker printed a line that is not a notice: ${cut(line, 200)}`);
      else this.#receive(notice, events);
    });
    createInterface({ input: child.stderr }).on('line', (line) => {
      events.log(`worker ${config.sandbox_id}: ${cut(line, 2000)}`);
    });
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        if (this.#isEnded) return;
        this.#isEnded = true;
        this.#failure ??= `the worker ended unexpectedly (${how})`;
        events.onEnd(this.#failure);
        for (const { reject } of this.#waiting.values()) reject(new Error(this.#failure));
        resolve();
      };
      child.on('error', (error) => end(error.message));
      // `close` comes after the last line of its output has been read.
      child.on('close', (code, signal) => {
        end(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
      });
    });
  }

  async ask(type: WorkerCommand['type'], timeoutMs: number): Promise<WorkerNotice> {
    if (this.#isEnded) throw new Error(this.#failure ?? '');
    const request = randomBytes(8).toString('hex');
    const late = `the worker did not answer to "${type}" within ${timeoutMs / 1000} s`;
    const answer = this.#answerTo(request, timeoutMs, late);
    this.#child.stdin.write(`${JSON.stringify({ type, request })}\n`);
    return await answer;
  }

  async stop(): Promise<void> {
    await Promise.race([this.ask('stop', 5_000).catch(() => undefined), this.ended]);
    const timer = setTimeout(() => this.kill(), 1000);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) sendSignal(-pid, 'SIGKILL');
  }

  async #answerTo(key: string, timeoutMs: number, late: string): Promise<WorkerNotice> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(late)), timeoutMs);
        this.#waiting.set(key, { resolve, reject });
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(key);
    }
  }

  #receive(notice: WorkerNotice, events: WorkerEvents): void {
    if (notice.type === 'failed') this.#failure = notice.text;
    if (notice.type === 'subscribers') this.subscribers = notice.count;
    const waiter = this.#waiting.get('request' in notice ? notice.request : notice.type);
    if (waiter === undefined || notice.type === 'ready') events.onNotice(notice);
    waiter?.resolve(notice);
  }
}

function parseNotice(line: string): WorkerNotice | null {
  try {
    const value = JSON.parse(line) as Partial<WorkerNotice> | null;
    return typeof value?.type === 'string' ? (value as WorkerNotice) : null;
  } catch {
    return null;
  }
}
