/** Runs the programs of clients: without a shell, byte for byte, with flow control in both directions. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { shellQuote } from '../../../text/shell-quote.ts';
import { COMMAND_MARKER } from '../processes.ts';
import type { ExecParameters, Operations, ProgramSignal, TerminalSize } from '../protocol.ts';
import { type ChildExit, endTree, exitOf } from './child.ts';
import { OperationError } from './failure.ts';
import type { Scratch } from './scratch.ts';
import { ownEnvironment } from './session.ts';
import { isFolder } from './shell.ts';

type Send = (stream: 'stdout' | 'stderr', data: string) => void;

interface Program {
  child: ChildProcess;
  mark: string;
  output: OutputWindow;
  /** A client that interrupts a program waits for none of the processes that it has left. */
  interrupted: boolean;
  /** Holds the path of its terminal. */
  ttyFile: string;
  /** The newest size that its terminal does not have yet. */
  wantedSize: TerminalSize | null;
  resizing: Promise<void> | null;
}

export class Programs {
  readonly #workingDir: string;
  readonly #scratch: Scratch;
  readonly #running = new Map<number, Program>();

  constructor(workingDir: string, scratch: Scratch) {
    this.#workingDir = workingDir;
    this.#scratch = scratch;
  }

  /** Resolves when the program has ended and its output has been read to its end. */
  async run(id: number, wanted: ExecParameters, send: Send): Promise<{ exitCode: number }> {
    const cwd = path.resolve(this.#workingDir, wanted.cwd ?? '.');
    if (!isFolder(cwd)) throw new OperationError('not-found', `No such directory: ${cwd}`);
    const ttyFile = this.#scratch.file(`${String(id)}.tty`);
    const [file = '', ...args] = commandLine(wanted, ttyFile);
    const mark = `${String(process.pid)}-${String(id)}`;
    const child = spawn(file, args, {
      cwd,
      detached: true,
      env: { ...ownEnvironment(), ...wanted.env, [COMMAND_MARKER]: mark },
      stdio: [wanted.stdin === 'stream' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    const output = new OutputWindow(wanted.window, send);
    const closed = Promise.all([output.read(child.stdout, 'stdout'), output.read(child.stderr, 'stderr')]);
    child.stdin?.on('error', () => undefined);
    const program: Program = { child, mark, output, ttyFile, interrupted: false, wantedSize: null, resizing: null };
    this.#running.set(id, program);
    try {
      const exit = await exitOf(child);
      if (exit.error !== null) return notStarted(exit, wanted.argv?.[0] ?? file, send);
      if (program.interrupted) endTree(child.pid ?? -1, mark);
      await closed;
      return { exitCode: exit.code };
    } finally {
      this.#running.delete(id);
      rmSync(ttyFile, { force: true });
    }
  }

  async write({ run, data, last }: Operations['exec_write']['takes']): Promise<void> {
    const stdin = this.#running.get(run)?.child.stdin;
    if (!stdin?.writable) return;
    const isTaken = data === '' || stdin.write(Buffer.from(data, 'base64'));
    if (last) stdin.end();
    // A program that closes its stdin takes no more.
    if (!isTaken) await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]).catch(() => undefined);
  }

  more({ run, bytes }: Operations['exec_more']['takes']): void {
    this.#running.get(run)?.output.grant(bytes);
  }

  signal(run: number, name: ProgramSignal): void {
    const program = this.#running.get(run);
    if (program?.child.pid === undefined) return;
    program.interrupted = true;
    // Its output may still be held by processes that it has left.
    if (program.child.exitCode !== null || program.child.signalCode !== null) this.kill(run);
    try {
      process.kill(-program.child.pid, name);
    } catch {
      // It ended by itself.
    }
  }

  /** The kernel sends SIGWINCH to what runs on the terminal. */
  resize(run: number, size: TerminalSize): void {
    const program = this.#running.get(run);
    if (program === undefined) return;
    program.wantedSize = size;
    program.resizing ??= setSize(program)
      // The program may end meanwhile, and its file with it.
      .catch(() => undefined)
      .finally(() => {
        program.resizing = null;
      });
  }

  /** Ends a program with every process it started. */
  kill(id: number): void {
    const program = this.#running.get(id);
    if (program?.child.pid === undefined) return;
    endTree(program.child.pid, program.mark);
    // The client is gone; nothing reads the rest of the pipes.
    program.child.stdout?.destroy();
    program.child.stderr?.destroy();
  }
}

/** One size after the other: of two at once the older one could be set last. */
async function setSize(program: Program): Promise<void> {
  for (let size = program.wantedSize; size !== null; size = program.wantedSize) {
    program.wantedSize = null;
    const tty = existsSync(program.ttyFile) ? readFileSync(program.ttyFile, 'utf8').trim() : '';
    if (tty.startsWith('/dev/')) await exitOf(spawn('stty', ['-F', tty, ...sizeOf(size)], { stdio: 'ignore' }));
  }
}

/** Pauses both streams of a program while more bytes are on their way than were granted. */
class OutputWindow {
  readonly #send: Send;
  readonly #streams: Readable[] = [];
  #room: number;

  constructor(room: number, send: Send) {
    this.#room = room;
    this.#send = send;
  }

  /** Resolves at the end of the stream. */
  async read(stream: Readable | null, name: 'stdout' | 'stderr'): Promise<void> {
    if (stream === null) return;
    this.#streams.push(stream);
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      this.#send(name, chunk.toString('base64'));
      this.#room -= chunk.length;
      if (this.#room <= 0) for (const each of this.#streams) each.pause();
    });
    if (!stream.closed) await once(stream, 'close').catch(() => undefined);
  }

  grant(bytes: number): void {
    this.#room += bytes;
    if (this.#room > 0) for (const each of this.#streams) each.resume();
  }
}

const SHELLS = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/bin/sh'];
const SCRIPT = ['/usr/bin/script', '/bin/script', '/usr/local/bin/script'];

/**
 * On a terminal the program is started by `script` of util-linux, which makes the pseudo-terminal and exits as the
 * program does. It writes the name of the terminal to a file, so that its size can be changed from outside.
 */
function commandLine({ argv, terminal }: ExecParameters, ttyFile: string): string[] {
  if (terminal === null) {
    if (argv === null) throw new OperationError('invalid', 'A shell needs a terminal');
    return argv;
  }
  const script = SCRIPT.find((file) => existsSync(file));
  if (script === undefined) {
    throw new OperationError('unsupported', 'A terminal needs the program script (util-linux), which is not installed');
  }
  const words = argv ?? [SHELLS.find((file) => existsSync(file)) ?? 'sh'];
  const setUp = `tty >${shellQuote(ttyFile)}; stty ${sizeOf(terminal).join(' ')} echo`;
  return [script, '-qefc', `${setUp}; exec ${words.map(shellQuote).join(' ')}`, '/dev/null'];
}

function sizeOf({ columns, rows }: TerminalSize): string[] {
  return ['columns', String(columns), 'rows', String(rows)];
}

const REASONS: Record<string, string> = {
  E2BIG: 'the arguments are too long',
  EACCES: 'permission denied',
  ENOENT: 'command not found',
  ENOEXEC: 'not a program, and without #!',
};

/** As a shell reports a program that it cannot run. */
function notStarted({ error }: ChildExit, program: string, send: Send): { exitCode: number } {
  const isMissing = error?.code === 'ENOENT';
  const reason = REASONS[error?.code ?? ''] ?? error?.message ?? 'cannot be run';
  send('stderr', Buffer.from(`${program}: ${reason}\n`).toString('base64'));
  return { exitCode: isMissing ? 127 : 126 };
}
