/**
 * A program that a client runs over `/sockets/exec`; it ends with the socket, a pause or a stop.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
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

/** Of one frame to the helper, which answers when the program has taken it. */
const PIECE = 64 * 1024;
/** Of util-linux. Inside are the programs of this machine. */
const SCRIPT = ['/usr/bin/script', '/bin/script', '/usr/local/bin/script'].find((file) =>
  existsSync(file),
);

export function serveProgram(client: WebSocket, sandbox: Sandbox): void {
  let program: Promise<RunningProgram> | null = null;
  /** The file that holds the name of the pseudo-terminal; empty without one. */
  let ttyFile = '';
  let stdin: Promise<void> = Promise.resolve();
  /** Bytes of stdin that the program has not taken. */
  let waiting = 0;
  /** Of two sizes set at once the older one could be set last. */
  let resized: Promise<unknown> = Promise.resolve();

  const answer = (frame: object): void => {
    if (client.readyState === client.OPEN) client.send(JSON.stringify(frame));
  };
  const signal = (name: ProgramSignal): void => {
    program
      ?.then(({ connection, run }) => connection.ask('signal', { run, signal: name }).answer)
      .catch(ignore);
  };

  const begin = async ({
    argv,
    cwd,
    env,
    stdin: hasStdin,
    terminal,
  }: ExecStart): Promise<RunningProgram> => {
    let commandLine = argv;
    if (terminal !== null) {
      if (SCRIPT === undefined) {
        const why = 'A terminal needs the program script (util-linux), which is not installed';
        throw new IsolationError('unsupported', why);
      }
      // `script` makes the pseudo-terminal and writes its name to a file; the size is changed
      // through that file.
      ttyFile = path.join((await sandbox.folders()).scratch, `tty-${randomUUID()}`);
      const setUp = `tty >${shellQuote(ttyFile)}; stty ${sizeOf(terminal)} echo`;
      const shown = (argv ?? [SHELL]).map(shellQuote).join(' ');
      commandLine = [SCRIPT, '-qefc', `${setUp}; exec ${shown}`, '/dev/null'];
    }
    if (commandLine === null) throw new IsolationError('invalid', 'A shell needs a terminal');
    const parameters = { argv: commandLine, cwd: cwd ?? '.', env, inherits: true, stdin: hasStdin };
    return sandbox.start(
      { ...parameters, until: 'closed', window: EXEC_WINDOW },
      (stream, data) => {
        client.send(Buffer.concat([Buffer.of(stream === 'stdout' ? 1 : 2), data]));
      },
    );
  };

  const runToEnd = async (started: Promise<RunningProgram>): Promise<void> => {
    let last: object;
    try {
      const { ended } = await started;
      answer({ type: 'started' });
      last = { type: 'exit', exit_code: (await ended).exitCode };
    } catch (error) {
      const code = error instanceof IsolationError ? error.code : 'failed';
      last = { type: 'failed', code, message: (error as Error).message };
    }
    answer(last);
    client.close(1000);
  };

  const send = (data: string, last: boolean): void => {
    const bytes = Buffer.byteLength(data, 'base64');
    stdin = stdin
      .then(async () => {
        if (program === null) return;
        const { connection, run } = await program;
        await connection.ask('write', { run, data, last }).answer;
        waiting -= bytes;
        if (bytes > 0) answer({ type: 'taken', bytes });
      })
      .catch(ignore);
  };

  /** False: not a valid frame, or more stdin than the window. */
  const receive = (data: Buffer, isBinary: boolean): boolean => {
    if (isBinary) {
      waiting += data.length;
      if (program === null || waiting > EXEC_WINDOW + PIECE) return false;
      for (let offset = 0; offset < data.length; offset += PIECE) {
        send(data.subarray(offset, offset + PIECE).toString('base64'), false);
      }
      return true;
    }
    const frame = parseFrame(data);
    if (program === null) {
      const start = check(execStart, frame, 'body');
      if (start.ok) void runToEnd((program = begin(start.value)));
      return start.ok;
    }
    const control = check(execControl, frame, 'body');
    if (!control.ok) return false;
    const wanted = control.value;
    if (wanted.type === 'end') send('', true);
    else if (wanted.type === 'kill') signal('SIGKILL');
    else if (wanted.type === 'signal') signal(wanted.signal);
    else if (wanted.type === 'taken') {
      void program.then(({ connection, run }) => {
        connection.grant(run, wanted.bytes);
      }, ignore);
    } else {
      const command = `stty -F "$(cat ${shellQuote(ttyFile)})" ${sizeOf(wanted.size)}`;
      const resize = { argv: ['/bin/sh', '-c', command], cwd: '/' };
      resized = resized.then(() => sandbox.run(resize, { onOutput: ignore })).catch(ignore);
    }
    return true;
  };

  client.on('message', (data: RawData, isBinary: boolean) => {
    if (!receive(data as Buffer, isBinary)) client.close(1008, 'Invalid frame');
  });
  client.once('close', () => {
    signal('SIGKILL');
  });
}

function sizeOf({ columns, rows }: { columns: number; rows: number }): string {
  return `columns ${String(columns)} rows ${String(rows)}`;
}

function ignore(): void {
  // What fails here is reported by the end of the program.
}
