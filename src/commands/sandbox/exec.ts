import type { Command } from 'commander';
import type { OutputStream } from '../../base/streams.ts';
import type { Context } from '../context.ts';
import { AppError, isAppError, READER_GONE } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { ProgramControl, TerminalSize } from '../../domain/program.ts';
import { formatDuration } from '../../base/text/time.ts';
import { isForPrograms } from '../../base/text/notice.ts';
import { createSafeStream } from '../../base/text/safe-text.ts';
import { timeLimit } from '../../runs/deadline.ts';
import { explain } from '../shared/declare.ts';
import { collect, duration } from '../shared/option-parsers.ts';
import { checkWord } from '../shared/resource.ts';
import { findRunning } from './wait-for-status.ts';
import { sandboxes } from './sandboxes.ts';
import { cut } from '../../base/text/well-formed.ts';

interface ExecOptions {
  cwd?: string;
  env?: string[];
  timeout?: number;
  stdin?: boolean;
  resume?: boolean;
  /** What follows `--`. */
  program?: readonly string[];
}

export function declareExec(parent: Command, ctx: Context): void {
  const command = parent.command('exec').description('run a program in a sandbox');
  command
    .usage('[options] <id> -- <program> [arguments...]')
    .argument('<id>', 'the sandbox, or a conversation in it')
    .allowExcessArguments()
    .option(
      '--cwd <dir>',
      'run it in this folder; a relative path begins where it would run otherwise',
    )
    .option(
      '--env <NAME=value>',
      'set a variable; NAME alone takes the value from this environment (repeatable)',
      collect,
    )
    .option('--timeout <duration>', 'end the program after this time', duration)
    .option('-i, --stdin', 'pass stdin on to the program (local service)')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    afterDashes: 'program',
    failureCode: 125,
    notes: [
      'The program is started without a shell. Its output is printed as it arrives, and acs ' +
        'exits with its code, when it has ended and closed its output. Signals are passed on ' +
        'to it; a second one ends both.',
      'With the id of a conversation, or @last, the program runs in the folder of its ' +
        'repository; with that of a sandbox, in the working directory of the sandbox.',
      'The local service passes all bytes on unchanged. Other servers return the output ' +
        'about every 200 ms; there the sandbox needs a shell, setsid and base64.',
    ],
    isRaw: true,
    json: () => [
      ['each part of the output', '{"type":"output","stream":"stdout"|"stderr","text"}'],
      ['last', '{"type":"exit","exit_code"}'],
    ],
    examples: {
      'acs sandbox exec @last --cwd app -- npm test': 'run the tests of the repository app there',
      "acs sandbox exec @last --cwd src --env CI=1 -- sh -c 'ls | wc -l'":
        'run a shell line in a folder, with a variable',
      'acs sandbox exec -i @last -- tar xf - <files.tar': 'pass a file to a program',
    },
  });
  command.action((id: string, options: ExecOptions, { args }: Command) =>
    exec(id, args.slice(1), options, ctx),
  );
}

async function exec(
  word: string,
  excess: readonly string[],
  options: ExecOptions,
  ctx: Context,
): Promise<void> {
  const argv = requiredProgram(excess, options);
  const env = readEnvironment(options.env, ctx.local.env);
  const isJson = isForPrograms(ctx.globals.format);
  ctx.out.check(null, isJson ? 'stream' : 'raw');
  checkWord(sandboxes, word);
  const server = await ctx.servers.active();
  if (options.stdin) requireSocket(server, 'pass stdin to a program');
  else if (ctx.terminal.io.stdin.isPiped) {
    const next =
      server.presence('exec-socket') === 'absent' ? 'this server cannot' : 'add -i to pass it on';
    await ctx.notice(`stdin is not passed on to the program: ${next}`);
  }
  const { id, folder, inFolder } = await findRunning(ctx, server, word, { resume: options.resume });

  const printer = createPrinter(ctx, isJson);
  const controls = createControls(ctx.signal, 'signal');
  let failure: AppError | null = null;
  const fail = (error: AppError): void => {
    failure ??= error;
    controls.send({ type: 'kill' });
  };
  const { timeout = Infinity } = options;
  const limit = timeLimit(ctx, timeout);
  limit.signal.addEventListener('abort', () =>
    fail(
      new AppError('timeout', `the program was ended after ${formatDuration(timeout)}`, {
        hint: 'allow more time: --timeout <duration>',
      }),
    ),
  );
  try {
    // Signals are passed on to the program; they do not end its connection.
    const connected = await server.withSignal(new AbortController().signal);
    const cwd = options.cwd === undefined ? folder : inFolder(options.cwd);
    const program = { argv, cwd, env, terminal: null };
    ctx.exitCode = await connected.sandboxes.exec(id, program, {
      stdin: options.stdin ? (ctx.terminal.io.stdin.raw as AsyncIterable<Uint8Array>) : null,
      async output(stream, bytes) {
        if (failure !== null) return;
        await printer.print(stream, bytes).catch((error: unknown) => {
          if (!isAppError(error)) throw error;
          fail(error);
        });
      },
      onControl: controls.listen,
    });
  } finally {
    limit.clear();
    controls.close();
  }
  // A reader that closed the pipe ended the program, as SIGPIPE would have.
  const failed = failure as AppError | null;
  if (failed?.exitCode === READER_GONE) ctx.exitCode = READER_GONE;
  else if (failed !== null) throw failed;
  else await printer.end();
}

type ProgramStream = 'stdout' | 'stderr';

function createPrinter(ctx: Context, isJson: boolean) {
  const { stderr } = ctx.terminal.io;
  const safe = stderr.isTTY ? createSafeStream() : null;
  // A character may be cut between two parts.
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const record = async (stream: ProgramStream, text: string): Promise<void> => {
    if (text !== '') await ctx.out.record({ type: 'output', stream, text });
  };
  return {
    async print(stream: ProgramStream, bytes: Uint8Array): Promise<void> {
      if (isJson) await record(stream, decoders[stream].decode(bytes, { stream: true }));
      else if (stream === 'stdout') await ctx.out.raw(bytes);
      else await stderr.write(safe === null ? bytes : safe.push(bytes));
    },
    async end(): Promise<void> {
      if (!isJson) return safe === null ? undefined : await stderr.write(safe.end());
      await record('stdout', decoders.stdout.decode());
      await record('stderr', decoders.stderr.decode());
      await ctx.out.record({ type: 'exit', exit_code: ctx.exitCode });
    },
  };
}

/** `excess`: words before `--`; they may be meant for the program. */
function requiredProgram([excess]: readonly string[], { program }: ExecOptions): readonly string[] {
  if (excess === undefined && program?.[0]) return program;
  let message = 'no program follows --';
  if (program === undefined) message = 'the program is missing: it follows --';
  else if (excess !== undefined)
    message = `"${cut(excess, 100)}" stands before --; the program and its arguments follow it`;
  throw new AppError('usage', message, { hint: 'for example: acs sandbox exec <id> -- ls -la' });
}

function readEnvironment(
  given: readonly string[] = [],
  own: Context['local']['env'],
): Record<string, string> {
  const variables = given.map((text): [string, string] => {
    const equals = text.indexOf('=');
    const name = equals === -1 ? text : text.slice(0, equals);
    const value = equals === -1 ? own[name] : text.slice(equals + 1);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new AppError('usage', `--env: "${cut(name, 100)}" is not the name of a variable`);
    }
    if (value === undefined)
      throw new AppError('usage', `--env ${name}: this environment has no variable ${name}`);
    return [name, value];
  });
  return Object.fromEntries(variables);
}

function requireSocket(server: Server, what: string): void {
  if (server.presence('exec-socket') !== 'absent') return;
  throw new AppError('unsupported', `this server cannot ${what}; the local service can`);
}

/** Keys are exit codes of acs. */
const SIGNALS: ReadonlyMap<number, 'SIGHUP' | 'SIGTERM'> = new Map([
  [129, 'SIGHUP'],
  [143, 'SIGTERM'],
]);

/** A control from before the start of the program is sent at its start. */
function createControls(signal: AbortSignal, onSignal: 'signal' | 'kill') {
  const waiting: ProgramControl[] = [];
  let send = (control: ProgramControl): void => void waiting.push(control);
  const pass = (): void => {
    const code = isAppError(signal.reason) ? signal.reason.exitCode : 0;
    const ended = { type: 'signal', signal: SIGNALS.get(code) ?? 'SIGINT' } as const;
    send(onSignal === 'kill' ? { type: 'kill' } : ended);
  };
  if (signal.aborted) pass();
  signal.addEventListener('abort', pass, { once: true });
  return {
    send: (control: ProgramControl): void => send(control),
    listen(listener: (control: ProgramControl) => void): void {
      send = listener;
      for (const control of waiting.splice(0)) listener(control);
    },
    close: (): void => signal.removeEventListener('abort', pass),
  };
}

export function declareShell(parent: Command, ctx: Context): void {
  const command = parent
    .command('shell')
    .description('open a shell in a sandbox of the local service');
  command
    .argument('<id>', 'the sandbox, or a conversation in it')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    notes: [
      'The shell has a terminal of its own: every key is passed on to it, Ctrl-C and Ctrl-Z ' +
        'as well, and its output is written to the terminal as it is. The exit code is that ' +
        'of the shell. It ends when acs ends.',
      'stdin and stdout must be a terminal; elsewhere use `acs sandbox exec`.',
    ],
    exits: ['not-found', 'conflict', 'unsupported', 'interrupted'],
    examples: {
      'acs sandbox shell @last': 'open a shell in the last sandbox',
      'acs sandbox shell @last --resume': 'the same, starting a paused sandbox first',
    },
  });
  command.action((id: string, options: { resume?: boolean }) => openShell(id, options, ctx));
}

async function openShell(
  word: string,
  { resume }: { resume?: boolean },
  ctx: Context,
): Promise<void> {
  const { stdin, stdout } = ctx.terminal.io;
  ctx.out.check(null, 'raw');
  if (ctx.globals.output !== undefined) throw new AppError('usage', 'a shell has no --output');
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new AppError('usage', 'a shell needs a terminal as stdin and stdout', {
      hint: 'run a program instead: acs sandbox exec -i <id> -- sh',
    });
  }
  checkWord(sandboxes, word);
  const server = await ctx.servers.active();
  requireSocket(server, 'open a shell in a sandbox');
  const { id, folder } = await findRunning(ctx, server, word, {
    resume,
    command: (id) => `acs sandbox shell ${id}`,
  });
  const controls = createControls(ctx.signal, 'kill');
  const connected = await server.withSignal(new AbortController().signal);
  const stopResizing = stdout.onResize?.(() =>
    controls.send({ type: 'resize', size: sizeOf(stdout) }),
  );
  const leaveRawMode = ctx.globals.mode === 'live' ? stdin.rawMode?.() : undefined;
  try {
    const env = { TERM: ctx.local.env.TERM ?? 'xterm' };
    const exitCode = await connected.sandboxes.exec(
      id,
      { argv: null, cwd: folder, env, terminal: sizeOf(stdout) },
      {
        stdin: stdin.raw as AsyncIterable<Uint8Array>,
        output: (_stream, bytes) => stdout.write(bytes),
        onControl: controls.listen,
      },
    );
    ctx.signal.throwIfAborted();
    ctx.exitCode = exitCode;
  } finally {
    leaveRawMode?.();
    stopResizing?.();
    controls.close();
  }
}

/** A terminal that does not report its size counts as 80 by 24. */
function sizeOf({ columns, rows }: Pick<OutputStream, 'columns' | 'rows'>): TerminalSize {
  return { columns: columns ?? 80, rows: rows ?? 24 };
}
