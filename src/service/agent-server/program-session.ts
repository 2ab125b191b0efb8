import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type * as v from 'valibot';
import type { RawData, WebSocket } from 'ws';
import { shellQuote } from '../../base/text/shell-quote.ts';
import {
  EXEC_WINDOW,
  execControl,
  execStart,
  type ExecStart,
} from '../../protocol/agent-server/requests.ts';
import { check } from '../../protocol/detail.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { ProgramSignal } from '../isolation/protocol.ts';
import { parseFrame } from './event-feed.ts';
import type { RunningProgram, Sandbox } from '../isolation/sandbox.ts';
import { SHELL } from './shell.ts';

type ExecControl = v.InferOutput<typeof execControl>;
type TerminalSize = NonNullable<ExecStart['terminal']>;

/** What a client may send beyond the window before it has read an answer. */
const TOLERANCE = 64 * 1024;
/** A program of util-linux. Inside are the programs of this machine. */
const SCRIPT = ['/usr/bin/script', '/bin/script', '/usr/local/bin/script'].find((file) =>
  existsSync(file),
);

/** A program over `/sockets/exec`; it ends with the socket, a pause or a stop. */
export class ProgramSession {
  readonly #client: WebSocket;
  readonly #sandbox: Sandbox;
  #program: Promise<RunningProgram> | null = null;
  /** The file that holds the name of the pseudo-terminal; empty without one. */
  #ttyFile = '';
  #waiting = 0;
  /** The last change of the size: two at once could end in the wrong order. */
  #resized: Promise<unknown> = Promise.resolve();

  constructor(client: WebSocket, sandbox: Sandbox) {
    this.#client = client;
    this.#sandbox = sandbox;
    client.on('message', (data: RawData, isBinary: boolean) => {
      const isValid = isBinary
        ? this.#receiveStdin(data as Buffer)
        : this.#receiveFrame(parseFrame(data));
      if (!isValid) client.close(1008, 'Invalid frame');
    });
    client.once('close', () => this.#signal('SIGKILL'));
  }

  #receiveStdin(data: Buffer): boolean {
    this.#waiting += data.length;
    if (this.#program === null || this.#waiting > EXEC_WINDOW + TOLERANCE) return false;
    this.#do(async (program) => {
      await program.write(data);
      this.#waiting -= data.length;
      this.#answer({ type: 'taken', bytes: data.length });
    });
    return true;
  }

  #receiveFrame(frame: unknown): boolean {
    if (this.#program === null) {
      const start = check(execStart, frame, 'body');
      if (start.ok) void this.#runToEnd((this.#program = this.#begin(start.value)));
      return start.ok;
    }
    const control = check(execControl, frame, 'body');
    if (control.ok) this.#controls[control.value.type](control.value as never);
    return control.ok;
  }

  readonly #controls: {
    [Type in ExecControl['type']]: (control: Extract<ExecControl, { type: Type }>) => void;
  } = {
    end: () => this.#do((program) => program.closeStdin()),
    kill: () => this.#signal('SIGKILL'),
    signal: ({ signal }) => this.#signal(signal),
    taken: ({ bytes }) => this.#do((program) => program.grant(bytes)),
    resize: ({ size }) => {
      const command = `stty -F "$(cat ${shellQuote(this.#ttyFile)})" ${sizeOf(size)}`;
      const resize = { argv: ['/bin/sh', '-c', command], cwd: '/' };
      this.#resized = this.#resized.then(() => this.#sandbox.run(resize)).catch(() => undefined);
    },
  };

  async #begin({ argv, cwd, env, stdin, terminal }: ExecStart): Promise<RunningProgram> {
    const commandLine =
      terminal === null ? argv : await this.#inTerminal(argv ?? [SHELL], terminal);
    if (commandLine === null) throw new IsolationError('invalid', 'A shell needs a terminal');
    return this.#sandbox.start(
      { argv: commandLine, cwd: cwd ?? '.', env, stdin, until: 'closed', window: EXEC_WINDOW },
      (stream, data) =>
        this.#client.send(Buffer.concat([Buffer.of(stream === 'stdout' ? 1 : 2), data])),
    );
  }

  /** `script` makes the pseudo-terminal and writes its name to a file, for changes of the size. */
  async #inTerminal(argv: string[], size: TerminalSize): Promise<string[]> {
    if (SCRIPT === undefined) {
      const why = 'A terminal needs the program script (util-linux), which is not installed';
      throw new IsolationError('unsupported', why);
    }
    this.#ttyFile = path.join((await this.#sandbox.folders()).scratch, `tty-${randomUUID()}`);
    const setUp = `tty >${shellQuote(this.#ttyFile)}; stty ${sizeOf(size)} echo`;
    const command = `${setUp}; exec ${argv.map(shellQuote).join(' ')}`;
    return [SCRIPT, '-qefc', command, '/dev/null'];
  }

  async #runToEnd(started: Promise<RunningProgram>): Promise<void> {
    try {
      const { ended } = await started;
      this.#answer({ type: 'started' });
      this.#answer({ type: 'exit', exit_code: (await ended).exitCode });
    } catch (error) {
      const code = error instanceof IsolationError ? error.code : 'failed';
      this.#answer({ type: 'failed', code, message: (error as Error).message });
    }
    this.#client.close(1000);
  }

  #signal(signal: ProgramSignal): void {
    this.#do((program) => program.signal(signal));
  }

  /** Errors are reported by the end of the program. */
  #do(action: (program: RunningProgram) => void | Promise<void>): void {
    this.#program?.then(action).catch(() => undefined);
  }

  #answer(frame: object): void {
    if (this.#client.readyState === this.#client.OPEN) this.#client.send(JSON.stringify(frame));
  }
}

function sizeOf({ columns, rows }: TerminalSize): string {
  return `columns ${columns} rows ${rows}`;
}
