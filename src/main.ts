/** The only reader of `process`; everything else gets values. */
import { spawnSync } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import { run } from './cli/run.ts';
import { clockFrom } from './base/clock.ts';
import type { InputStream, OutputStream } from './base/streams.ts';
import { AppError, READER_GONE } from './base/errors.ts';
import { KEY_VARIABLES } from './base/text/secret-names.ts';
import { createContext } from './cli/create-context.ts';

const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** No process.exit after output: it would cut a pipe at 64 KiB. `root`: of the package. */
export function main(root: string): void {
  const interruption = new AbortController();
  const hangUp = createHangUp();
  listenForSignals(interruption, hangUp);
  const stdin = inputStream(() => process.stdin);
  const stderr = outputStream(2, () => process.stderr, hangUp);
  const { write } = stderr;
  // An error of stderr does not end the command: a started run is still followed.
  stderr.write = (chunk) => write(chunk).catch(() => undefined);
  const env = { ...process.env };
  // What acs starts without an environment of its own inherits this one.
  for (const name of KEY_VARIABLES) delete process.env[name];
  const context = createContext({
    root,
    io: {
      stdin,
      stdout: outputStream(1, () => process.stdout, hangUp),
      stderr,
    },
    env,
    cwd: workingDirectory(),
    home: homedir(),
    platform: process.platform,
    clock: clockFrom(() => Date.now()),
    signal: interruption.signal,
  });
  // Node prints a warning as text, also between the lines of --json.
  process.removeAllListeners('warning').on('warning', ({ message }) => {
    void context.warn(message).catch(() => undefined);
  });
  run(process.argv.slice(2), context).then(
    (code) => {
      process.exitCode = code;
      // A terminal's stdin that was read keeps the process open; nothing more is read from it.
      if (stdin.wasUsed) process.stdin.destroy();
      hangUp.settle();
    },
    (error: unknown) => {
      process.exitCode = 70;
      process.stderr.write(`error: internal error (this is a bug in acs): ${String(error)}\n`);
    },
  );
}

/** A second signal ends the process at once, as is usual for Ctrl-C twice. */
function listenForSignals(interruption: AbortController, hangUp: HangUp): void {
  for (const [name, exitCode] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.on(name, () => {
      if (name === 'SIGHUP') hangUp.received();
      if (interruption.signal.aborted) {
        hangUp.settle();
        process.exit(exitCode);
      }
      interruption.abort(new AppError('interrupted', `interrupted by ${name}`, { exitCode }));
    });
  }
}

interface HangUp {
  received: () => void;
  /** Ends the process as the signal would have, when its terminal is gone; else does nothing. */
  settle: () => void;
}

/** Node restores its terminal at its end, and aborts when the terminal is gone. */
function createHangUp(): HangUp {
  const hadTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let isReceived = false;
  return {
    received: () => {
      isReceived = true;
    },
    settle: () => {
      if (!isReceived || !hadTerminal) return;
      process.removeAllListeners('SIGHUP');
      process.kill(process.pid, 'SIGHUP');
    },
  };
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/'; // the folder was deleted meanwhile; commands that need it report that
  }
}

/** `open` is called on first use: creating a stream takes a tenth of the start-up time. */
function outputStream(
  descriptor: number,
  open: () => NodeJS.WriteStream,
  hangUp: HangUp,
): OutputStream {
  let lost: AppError | null = null;
  let opened: NodeJS.WriteStream | null = null;
  const listen = (stream: NodeJS.WriteStream): NodeJS.WriteStream =>
    stream.on('error', (error: NodeJS.ErrnoException) => {
      lost = outputError(error);
      // EIO reports a closed terminal, of which perhaps only the shell receives SIGHUP.
      if (error.code === 'EIO') hangUp.received();
    });
  const stream = (): NodeJS.WriteStream => (opened ??= listen(open()));
  return {
    write: (chunk) =>
      new Promise((resolve, reject) => {
        if (lost !== null) return reject(lost);
        stream().write(chunk, (error) => (error ? reject(outputError(error)) : resolve()));
      }),
    isTTY: isatty(descriptor),
    get columns() {
      return stream().columns || undefined; // 0 from a terminal whose size is unknown
    },
    get rows() {
      return stream().rows || undefined;
    },
    onResize(listener) {
      stream().on('resize', listener);
      return () => void stream().off('resize', listener);
    },
  };
}

/** A reader that closed the pipe is no failure (141); a full disk is one. */
function outputError(error: NodeJS.ErrnoException): AppError {
  const reasons: Record<string, string> = {
    ENOSPC: 'no space left on the device',
    EDQUOT: 'the disk quota is used up',
    EFBIG: 'the file would be too large',
  };
  const reason = reasons[error.code ?? ''];
  if (reason === undefined) {
    return new AppError('interrupted', 'the reader of the output is gone', {
      exitCode: READER_GONE,
    });
  }
  return new AppError('config', `cannot write to stdout: ${reason}`, { cause: error });
}

/** `create` is called on first use: creating the stream takes a fifth of the start-up time. */
function inputStream(create: () => NodeJS.ReadStream): InputStream & { wasUsed: boolean } {
  let wasUsed = false;
  let wasRead = false;
  const open = (): NodeJS.ReadStream => {
    wasUsed = true;
    return create();
  };
  return {
    get wasUsed() {
      return wasUsed;
    },
    isTTY: isatty(0),
    get isPiped() {
      const stdin = fstatSync(0);
      return stdin.isFIFO() || stdin.isFile();
    },
    get raw() {
      return open();
    },
    rawMode() {
      // A terminal that is gone has no mode to return to.
      const stream = open().on('error', () => undefined);
      const enter = (): void => {
        stream.setRawMode(false).setRawMode(true);
        // Node lets the terminal add carriage returns; at its end it restores all.
        spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
      };
      enter();
      // A shell gives a job that it continues the settings of its own.
      process.on('SIGCONT', enter);
      return () => {
        process.off('SIGCONT', enter);
        stream.setRawMode(false);
      };
    },
    async readAll(limitBytes = 64 * 1024 * 1024) {
      if (wasRead)
        throw new AppError('usage', 'stdin can be read only once in a command', {
          hint: 'use "-" in one place',
        });
      wasRead = true;
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of open() as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > limitBytes)
          throw new AppError('usage', `more than ${limitBytes} bytes on stdin`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    },
  };
}
