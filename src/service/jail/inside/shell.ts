/** Running shell commands, and the sessions that carry directory and environment from one command to the next. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { COMMAND_MARKER, killProcesses } from '../processes.ts';
import type { RunParameters, RunResult } from '../protocol.ts';
import { Countdowns } from './countdown.ts';
import { BoundedText } from './output.ts';

/** Linux takes at most 128 KiB in one argument. */
const LONGEST_ARGUMENT = 100_000;
/** After the shell ended: how long its output must be silent before what still holds the pipe is left alone. */
const SILENCE_MS = 60;
const PATIENCE_MS = 1000;

interface Session {
  cwd: string;
  env: Record<string, string>;
}

interface Run {
  pid: number;
  mark: string;
  killed: boolean;
}

export type OutputListener = (stream: 'stdout' | 'stderr', text: string) => void;

export class Shell {
  readonly #workingDir: string;
  readonly #program: string;
  readonly #sessions = new Map<string, Session>();
  readonly #runs = new Map<number, Run>();
  readonly #countdowns = new Countdowns();
  #folder: string | null = null;

  constructor(workingDir: string) {
    this.#workingDir = workingDir;
    this.#program = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => existsSync(file)) ?? '/bin/sh';
  }

  /** Runs a command to its end. One that cannot be started gives exit code -1 and says why on stderr. */
  async run(id: number, wanted: RunParameters, onOutput: OutputListener): Promise<RunResult> {
    const session = this.#session(wanted);
    const cwd = path.resolve(session.cwd, wanted.cwd ?? '.');
    if (!isFolder(cwd)) return notStarted(cwd, `No such directory: ${cwd}`);
    const files = this.#files(id);
    const mark = `${String(process.pid)}-${String(id)}`;
    const child = spawn(this.#program, ['-c', script(wanted, files)], {
      cwd,
      detached: true,
      env: { ...session.env, ...wanted.env, [COMMAND_MARKER]: mark },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      const ended = await this.#attend(id, child, wanted, mark, onOutput);
      if (!ended.timedOut && !ended.killed) carryOver(session, files.state);
      return { ...ended, cwd: session.cwd };
    } finally {
      this.#runs.delete(id);
      rmSync(files.state, { force: true });
      rmSync(files.command, { force: true });
    }
  }

  /** Stops or continues the counting of timeouts. */
  hold(held: boolean): void {
    this.#countdowns.hold(held);
  }

  /** Ends a command with everything it started. */
  kill(id: number): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    run.killed = true;
    end(run);
  }

  #session(wanted: RunParameters): Session {
    const fresh = (): Session => ({ cwd: path.resolve(this.#workingDir, wanted.startIn), env: ownEnvironment() });
    if (wanted.session === null) return fresh();
    if (wanted.reset) this.#sessions.delete(wanted.session);
    let session = this.#sessions.get(wanted.session);
    if (session === undefined || !isFolder(session.cwd)) {
      session = { ...fresh(), ...(session && { env: session.env }) };
      this.#sessions.set(wanted.session, session);
    }
    return session;
  }

  #files(id: number): { state: string; command: string } {
    this.#folder ??= mkdtempSync(path.join(tmpdir(), 'acs-shell-'));
    return { state: path.join(this.#folder, `${String(id)}.state`), command: path.join(this.#folder, String(id)) };
  }

  async #attend(
    id: number,
    child: ChildProcess,
    wanted: RunParameters,
    mark: string,
    onOutput: OutputListener,
  ): Promise<RunResult> {
    const run: Run = { pid: child.pid ?? -1, mark, killed: false };
    this.#runs.set(id, run);
    let timedOut = false;
    const stopCountdown = this.#countdowns.start(wanted.timeoutMs, () => {
      timedOut = true;
      end(run);
    });
    const output = gather(child, wanted, onOutput);
    const exit = await ended(child);
    stopCountdown();
    await output.settled();
    const failed = timedOut || run.killed || exit.error !== null;
    return {
      exitCode: failed ? -1 : exit.code,
      timedOut,
      killed: run.killed,
      stdout: output.stdout.toString(),
      stderr: exit.error === null ? output.stderr.toString() : exit.error.message,
      cwd: '',
      pid: run.pid,
    };
  }
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
}

function notStarted(cwd: string, stderr: string): RunResult {
  return { exitCode: -1, timedOut: false, killed: false, stdout: '', stderr, cwd, pid: -1 };
}

function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * The command with, before it, what writes directory and environment down when the shell ends. A shell that is replaced
 * (`exec`) or sets its own EXIT trap carries nothing over.
 */
function script(wanted: RunParameters, files: { state: string; command: string }): string {
  const note = `{ printf '%s\\0' "$PWD"; command -p env -0; } >'${files.state}' 2>/dev/null`;
  const before = `${wanted.merged ? 'exec 2>&1; ' : ''}trap 'acs_code=$?; ${note.replaceAll("'", `'\\''`)}; exit $acs_code' EXIT`;
  if (Buffer.byteLength(wanted.command) <= LONGEST_ARGUMENT) return `${before}; ${wanted.command}\n`;
  writeFileSync(files.command, wanted.command, { mode: 0o600 });
  return `${before}; . '${files.command}'`;
}

function carryOver(session: Session, file: string): void {
  let note: string;
  try {
    note = readFileSync(file, 'utf8');
  } catch {
    return;
  }
  const [cwd = '', ...variables] = note.split('\0').slice(0, -1);
  if (!cwd.startsWith('/') || variables.length === 0) return;
  session.cwd = cwd;
  session.env = Object.fromEntries(
    variables.flatMap((variable) => {
      const equals = variable.indexOf('=');
      return equals < 1 ? [] : [[variable.slice(0, equals), variable.slice(equals + 1)]];
    }),
  );
}

function end(run: Run): void {
  killProcesses({ below: run.pid, marked: `${COMMAND_MARKER}=${run.mark}`, except: [] });
  for (const pid of [-run.pid, run.pid]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

function ended(child: ChildProcess): Promise<{ code: number; error: Error | null }> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ code: -1, error });
    });
    child.once('exit', (code, signal) => {
      resolve({ code: code ?? 128 + (SIGNALS[signal ?? ''] ?? 0), error: null });
    });
  });
}

/** As a shell reports the end by a signal: 128 and its number. */
const SIGNALS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

interface Gathered {
  stdout: BoundedText;
  stderr: BoundedText;
  /** Resolves when the output is complete; a background process that keeps the pipe open is not waited for. */
  settled: () => Promise<void>;
}

function gather(child: ChildProcess, wanted: RunParameters, onOutput: OutputListener): Gathered {
  const texts = {
    stdout: new BoundedText(wanted.keepHead, wanted.keepTail),
    stderr: new BoundedText(wanted.keepHead, wanted.keepTail),
  };
  let heard = performance.now();
  let open = 2;
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name];
    stream?.on('data', (chunk: Buffer) => {
      heard = performance.now();
      const text = texts[name].push(chunk);
      if (text !== '' && !wanted.merged) onOutput(name, text);
    });
    stream?.once('close', () => {
      texts[name].end();
      open -= 1;
    });
    stream?.on('error', () => undefined);
  }
  const settled = async (): Promise<void> => {
    const since = performance.now();
    while (open > 0 && performance.now() - heard < SILENCE_MS && performance.now() - since < PATIENCE_MS)
      await pause(5);
    // A full turn of the event loop, in which everything that already lies in the pipe is read.
    for (let turn = 0; turn < 3 && open > 0; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...texts, settled };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
