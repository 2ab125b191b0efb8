import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sendSignal } from '../../../base/process.ts';
import { COMMAND_MARKER, killProcesses } from '../processes.ts';
import type { ProgramSignal, RunEnd, RunParameters } from '../protocol.ts';
import { OperationError } from './files.ts';

type Send = (stream: 'stdout' | 'stderr', data: string) => void;

interface Program {
  child: ChildProcess;
  mark: string;
  /** A client that interrupts a program waits for none of the processes that it has left. */
  interrupted: boolean;
  until: RunParameters['until'];
  window: number;
}

/** Output is silent after this time without data; `LONGEST_WAIT` is the limit of the wait. */
const SILENCE = 60;
const LONGEST_WAIT = 1000;

const REASONS: Record<string, string> = {
  E2BIG: 'the arguments are too long',
  EACCES: 'permission denied',
  ENOENT: 'command not found',
  ENOEXEC: 'not a program, and without #!',
};

export class Programs {
  readonly #workingDir: string;
  readonly #onExhausted: () => void;
  readonly #running = new Map<number, Program>();

  constructor(workingDir: string, onExhausted: () => void) {
    this.#workingDir = workingDir;
    this.#onExhausted = onExhausted;
  }

  async run(id: number, parameters: RunParameters, send: Send): Promise<RunEnd> {
    const mark = `${process.pid}-${id}`;
    const cwd = path.resolve(this.#workingDir, parameters.cwd);
    const child = spawnProgram({ ...parameters, cwd }, mark);
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const { until, window } = parameters;
    const program: Program = { child, mark, interrupted: false, until, window };
    this.#running.set(id, program);
    try {
      const output = this.#pass(program, send);
      const end = await ended.catch((error: NodeJS.ErrnoException) => error);
      if (end instanceof Error) {
        const { code = '', message } = end;
        if (code === 'EAGAIN') this.#onExhausted();
        const text = `${parameters.argv[0]}: ${REASONS[code] ?? message}\n`;
        send('stderr', Buffer.from(text).toString('base64'));
        return { exitCode: code === 'ENOENT' ? 127 : 126, pid: -1 };
      }
      if (program.interrupted) endTree(program);
      await (until === 'closed' ? output.closed : output.silent());
      const [code, signal] = end;
      const exitCode = code ?? 128 + constants.signals[signal as NodeJS.Signals];
      return { exitCode, pid: child.pid ?? -1 };
    } finally {
      this.#running.delete(id);
      // A process in the background that holds them must neither wait nor get SIGPIPE.
      for (const stream of [child.stdout, child.stderr])
        stream?.removeAllListeners('data').resume();
    }
  }

  /** Sends the output of a program, whose streams are paused while the window is used up. */
  #pass(program: Program, send: Send): { closed: Promise<unknown>; silent: () => Promise<void> } {
    const { stdout, stderr } = program.child;
    let last = performance.now();
    let open = 2;
    const closings = ([stdout, stderr] as const).map(async (stream, index) => {
      if (stream === null) return;
      stream.on('error', () => undefined);
      stream.on('data', (chunk: Buffer) => {
        last = performance.now();
        send(index === 0 ? 'stdout' : 'stderr', chunk.toString('base64'));
        program.window -= chunk.length;
        if (program.window <= 0) for (const each of [stdout, stderr]) each?.pause();
      });
      if (!stream.closed) await once(stream, 'close').catch(() => undefined);
      open -= 1;
    });
    const silent = async (): Promise<void> => {
      const isPaused = (): boolean => program.window <= 0;
      for (let since = performance.now(), left = LONGEST_WAIT; open > 0 && left > 0;) {
        if (!isPaused() && performance.now() - last >= SILENCE) break;
        await delay(5);
        if (isPaused()) last = performance.now();
        else left -= performance.now() - since;
        since = performance.now();
      }
      // Full turns of the event loop, in which all data in the pipes is read.
      for (let turn = 0; turn < 3 && open > 0; turn += 1)
        await new Promise((resolve) => setImmediate(resolve));
    };
    return { closed: Promise.all(closings), silent };
  }

  grant(run: number, bytes: number): void {
    const program = this.#running.get(run);
    if (program === undefined) return;
    program.window += bytes;
    if (program.window <= 0) return;
    program.child.stdout?.resume();
    program.child.stderr?.resume();
  }

  async write({ run, data, last }: { run: number; data: string; last: boolean }): Promise<void> {
    const stdin = this.#running.get(run)?.child.stdin;
    if (!stdin?.writable) return;
    const isTaken = data === '' || stdin.write(Buffer.from(data, 'base64'));
    if (last) stdin.end();
    if (!isTaken)
      await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]).catch(() => undefined);
  }

  /** SIGKILL ends every process that the program started, another signal is for its group. */
  signal(run: number, signal: ProgramSignal): void {
    const program = this.#running.get(run);
    if (program?.child.pid === undefined) return;
    const { child } = program;
    program.interrupted = true;
    // The output of a program that has ended may still be held by processes that it has left.
    if (signal === 'SIGKILL' || child.exitCode !== null || child.signalCode !== null) {
      endTree(program);
      if (program.until === 'silent') return;
      child.stdout?.destroy();
      child.stderr?.destroy();
    } else sendSignal(-program.child.pid, signal);
  }
}

function spawnProgram({ argv, cwd, env, inherits, stdin }: RunParameters, mark: string) {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new OperationError('not-found', `No such directory: ${cwd}`);
  }
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd,
    detached: true,
    env: { ...(inherits && process.env), ...env, [COMMAND_MARKER]: mark },
    stdio: [stdin === false ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => undefined);
  if (typeof stdin === 'string') child.stdin?.end(stdin);
  return child;
}

function endTree({ child: { pid = -1 }, mark }: Program): void {
  killProcesses({ below: pid, marked: `${COMMAND_MARKER}=${mark}`, except: [] });
  if (pid > 1) for (const target of [-pid, pid]) sendSignal(target, 'SIGKILL');
}
