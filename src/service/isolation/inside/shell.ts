/** Runs shell commands, in sessions that keep directory and environment from one command to the next. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { COMMAND_MARKER } from '../processes.ts';
import type { RunParameters, RunEnd } from '../protocol.ts';
import { endTree, exitOf } from './child.ts';
import { gather, type OutputListener } from './gather.ts';
import type { Scratch } from './scratch.ts';
import { carryOver, ownEnvironment, script, type Session } from './session.ts';

interface Run {
  pid: number;
  mark: string;
  killed: boolean;
}

export class Shell {
  readonly #workingDir: string;
  readonly #scratch: Scratch;
  readonly #program: string;
  readonly #sessions = new Map<string, Session>();
  readonly #runs = new Map<number, Run>();

  constructor(workingDir: string, scratch: Scratch) {
    this.#scratch = scratch;
    this.#workingDir = workingDir;
    this.#program = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => existsSync(file)) ?? '/bin/sh';
  }

  /** Runs a command to its end. One that cannot be started has exit code -1 and the reason on stderr. */
  async run(id: number, wanted: RunParameters, onOutput: OutputListener): Promise<RunEnd> {
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
      if (!ended.killed) carryOver(session, files.state);
      return { ...ended, cwd: session.cwd };
    } finally {
      this.#runs.delete(id);
      rmSync(files.state, { force: true });
      rmSync(files.command, { force: true });
    }
  }

  /** Ends a command with every process it started. */
  kill(id: number): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    run.killed = true;
    endTree(run.pid, run.mark);
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
    return { state: this.#scratch.file(`${String(id)}.state`), command: this.#scratch.file(String(id)) };
  }

  async #attend(
    id: number,
    child: ChildProcess,
    wanted: RunParameters,
    mark: string,
    onOutput: OutputListener,
  ): Promise<RunEnd> {
    const run: Run = { pid: child.pid ?? -1, mark, killed: false };
    this.#runs.set(id, run);
    const output = gather(child, wanted, onOutput);
    const exit = await exitOf(child);
    await output.settled();
    const failed = run.killed || exit.error !== null;
    return {
      exitCode: failed ? -1 : exit.code,
      killed: run.killed,
      stdout: output.stdout.toString(),
      stderr: exit.error === null ? output.stderr.toString() : exit.error.message,
      cwd: '',
      pid: run.pid,
    };
  }
}

function notStarted(cwd: string, stderr: string): RunEnd {
  return { exitCode: -1, killed: false, stdout: '', stderr, cwd, pid: -1 };
}

export function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
