/** One worker: its process, its notices and the commands to it (worker-protocol.ts). */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { nodeExecutable, sendSignal } from '../lifecycle/process.ts';
import { withParentDeathSignal } from '../isolation/parent-death-signal.ts';
import type { WorkerCommand, WorkerConfig, WorkerNotice } from './worker-protocol.ts';

export interface WorkerEvents {
  /** Every line that answers no command. */
  onNotice(notice: WorkerNotice): void;
  /** The process has ended; `text` is the reason in a sentence. */
  onEnd(text: string): void;
  /** A line for the service's log. */
  log(line: string): void;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const KILL_AFTER_MS = 1000;

export interface WorkerProcess {
  pid: number;
  /** How many clients are connected to its web sockets. */
  readonly subscribers: number;
  /** Sends a command and waits for its answer. Rejects when the worker ends first or takes too long. */
  ask(type: WorkerCommand['type'], timeoutMs: number): Promise<WorkerNotice>;
  /** Settles after its notice `ready` was passed on. Rejects when it ends before, or is killed for lateness. */
  ready: Promise<void>;
  /** Settles when the process is gone. */
  ended: Promise<void>;
  /** Kills the worker's process group, and with it the processes inside. */
  kill(): void;
}

/** Starts `node <root>/dist/worker.js` in a process group of its own, so that a Ctrl-C does not reach it. */
export function startWorker(
  config: WorkerConfig,
  env: Readonly<Record<string, string | undefined>>,
  events: WorkerEvents,
): WorkerProcess {
  const { file, args } = withParentDeathSignal('CONT', [nodeExecutable(), path.join(config.root, 'dist', 'worker.js')]);
  const child = spawn(file, args, {
    cwd: config.workspace_dir,
    detached: true,
    env: withoutKeys(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A write to a worker that has just ended is not an error: `close` reports the end.
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify(config)}\n`);
  const kill = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      sendSignal(-child.pid, 'SIGKILL');
    }
  };
  const start = limitedStart(kill);
  const waiting = new Map<string, (notice: WorkerNotice) => void>();
  const failures = new Set<(error: Error) => void>();
  const reported = { failure: '', subscribers: 0 };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const notice = parseNotice(line, events.log);
    if (notice === null) return;
    if (notice.type === 'failed') reported.failure = notice.text;
    if (notice.type === 'subscribers') reported.subscribers = notice.count;
    const answered = 'request' in notice ? waiting.get(notice.request) : undefined;
    if (answered !== undefined) answered(notice);
    else events.onNotice(notice);
    if (notice.type === 'ready') start.succeed();
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    events.log(`worker ${config.sandbox_id}: ${line.slice(0, 2000)}`);
  });
  const ended = whenEnded(child, (how) => {
    const text = reported.failure === '' ? `the worker ended unexpectedly (${how})` : reported.failure;
    for (const fail of failures) fail(new Error(text));
    events.onEnd(text);
    start.fail(text);
  });
  return {
    pid: child.pid ?? -1,
    ready: start.ready,
    ended,
    get subscribers() {
      return reported.subscribers;
    },
    ask: (type, timeoutMs) => ask(child, waiting, failures, type, timeoutMs),
    kill,
  };
}

interface Start {
  ready: Promise<void>;
  succeed(): void;
  fail(why: string): void;
}

/** The start of a worker. A failure that is not awaited is ignored. */
function limitedStart(onTimeout: () => void): Start {
  let succeed = (): void => undefined;
  let fail = (_why: string): void => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    succeed = resolve;
    fail = (why) => {
      reject(new Error(why));
    };
  });
  const timer = setTimeout(() => {
    fail('the worker did not become ready in time');
    onTimeout();
  }, READY_TIMEOUT_MS);
  const clear = (): void => {
    clearTimeout(timer);
  };
  ready.then(clear, clear);
  return { ready, succeed, fail };
}

/** Requests the end of a worker, and kills it when it does not end in time. Settles when it has ended. */
export async function endWorker(worker: WorkerProcess): Promise<void> {
  await Promise.race([worker.ask('stop', STOP_TIMEOUT_MS).catch(() => undefined), worker.ended]);
  const timer = setTimeout(() => {
    worker.kill();
  }, KILL_AFTER_MS);
  await worker.ended;
  clearTimeout(timer);
}

function ask(
  child: ChildProcess,
  waiting: Map<string, (notice: WorkerNotice) => void>,
  failures: Set<(error: Error) => void>,
  type: WorkerCommand['type'],
  timeoutMs: number,
): Promise<WorkerNotice> {
  const request = randomBytes(8).toString('hex');
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      waiting.delete(request);
      failures.delete(fail);
    };
    const fail = (error: Error): void => {
      settle();
      reject(error);
    };
    const timer = setTimeout(() => {
      fail(new Error(`the worker did not answer to "${type}" within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    failures.add(fail);
    waiting.set(request, (notice) => {
      settle();
      resolve(notice);
    });
    child.stdin?.write(`${JSON.stringify({ type, request })}\n`);
  });
}

function whenEnded(child: ChildProcess, onEnd: (how: string) => void): Promise<void> {
  return new Promise((resolve) => {
    let isDone = false;
    const end = (how: string): void => {
      if (isDone) return;
      isDone = true;
      onEnd(how);
      resolve();
    };
    child.on('error', (error) => {
      end(error.message);
    });
    // `close` comes after the last line of its output has been read.
    child.on('close', (code, signal) => {
      end(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
    });
  });
}

function parseNotice(line: string, log: (line: string) => void): WorkerNotice | null {
  try {
    const value = JSON.parse(line) as Partial<WorkerNotice> | null;
    if (typeof value?.type === 'string') return value as WorkerNotice;
  } catch {
    // No JSON: it is logged below.
  }
  log(`a worker printed a line that is not a notice: ${line.slice(0, 200)}`);
  return null;
}

/** The environment without the keys of servers: neither a worker nor its agent gets them. */
function withoutKeys(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || /^(?:ACS|OPENHANDS)_/.test(name)) continue;
    kept[name] = value;
  }
  return kept;
}
