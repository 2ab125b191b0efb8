import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, isAppError, READER_GONE } from '../../errors.ts';
import { LONGEST_TIMER_MS } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import { explain } from '../declare.ts';
import { collect, duration } from '../option-parsers.ts';
import { checkWord } from '../resource/find.ts';
import { createControls } from './controls.ts';
import { printerOf } from './program-output.ts';
import { findRunning } from './running.ts';
import { sandboxes } from './sandboxes.ts';

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
    .argument('<id>', 'the sandbox')
    .allowExcessArguments()
    .option('--cwd <dir>', 'run it there; a relative path starts in the working directory of the sandbox')
    .option(
      '--env <NAME=value>',
      'set a variable; NAME alone takes the value from this environment (repeatable)',
      collect,
    )
    .option('--timeout <duration>', 'end the program after this time', duration)
    .option('-i, --stdin', 'pass stdin on to the program (local service)')
    .option('--resume', 'start a paused sandbox first');
  explain(command, {
    failureCode: 125,
    notes: [
      'The program and its arguments are used as they are, without a shell. Its output is printed as it arrives, and its exit code is that of acs. Without -i its stdin is empty.',
      'The command ends when the program has ended and closed its output: a background process that keeps it open delays the end, as with ssh.',
      'Ctrl-C, SIGTERM and SIGHUP are passed on to the program. A second signal ends acs, and the program with it.',
      'The local service passes all bytes on unchanged. Other servers return the output about every 200 ms; there the sandbox needs a shell, setsid and base64. On a terminal control characters of the output are made safe.',
    ],
    json: () => [
      ['each part of the output', '{"type":"output","stream":"stdout"|"stderr","text"}'],
      ['last', '{"type":"exit","exit_code"}'],
    ],
    examples: [
      { command: 'acs sandbox exec @last --cwd app -- npm test', does: 'run the tests of the repository app there' },
      {
        command: "acs sandbox exec @last --cwd src --env CI=1 -- sh -c 'ls | wc -l'",
        does: 'run a shell line in a folder, with a variable',
      },
      { command: 'acs sandbox exec -i @last -- tar xf - <files.tar', does: 'pass a file to a program' },
    ],
  });
  command.action((id: string, options: ExecOptions, { args }: Command) => exec(id, args.slice(1), options, ctx));
}

async function exec(word: string, excess: readonly string[], options: ExecOptions, ctx: Context): Promise<void> {
  const argv = requiredProgram(excess, options);
  const env = readEnvironment(options.env ?? [], ctx.env);
  const printer = printerOf(ctx);
  checkWord(sandboxes, word);
  const server = await ctx.server();
  if (options.stdin) requireSocket(server, 'pass stdin to a program');
  const { id } = await findRunning(ctx, server, word, {
    resume: options.resume,
    command: (id) => `acs sandbox exec ${id}`,
  });
  const controls = createControls(ctx.signal, 'signal');
  // Signals are passed on to the program; they end neither its connection nor the requests for its output.
  const connected = await server.withSignal(new AbortController().signal);
  let failure: AppError | null = null;
  const fail = (error: AppError): void => {
    failure ??= error;
    controls.send({ type: 'kill' });
  };
  const stopTimer = onTime(ctx, options.timeout, fail);
  try {
    const program = { argv, cwd: options.cwd ?? null, env, terminal: null };
    const exitCode = await connected.sandboxes.exec(id, program, {
      stdin: options.stdin ? (ctx.io.stdin.raw as AsyncIterable<Uint8Array>) : null,
      async output(stream, bytes) {
        if (failure !== null) return;
        await printer.print(stream, bytes).catch((error: unknown) => {
          if (!isAppError(error)) throw error;
          fail(error);
        });
      },
      onControl: controls.listen,
    });
    if (failure === null) await printer.end(exitCode);
    ctx.exitCode = exitCode;
  } finally {
    stopTimer();
    controls.close();
  }
  if (failure !== null) throwFailure(ctx, failure);
}

/** A reader that closed the pipe ended the program, as SIGPIPE would have. */
function throwFailure(ctx: Context, failure: AppError): void {
  if (failure.exitCode !== READER_GONE) throw failure;
  ctx.exitCode = READER_GONE;
}

/** @param excess words between the id and `--`: they belong to no flag, and may be meant for the program */
function requiredProgram(excess: readonly string[], { program }: ExecOptions): readonly string[] {
  if (program !== undefined && excess[0] !== undefined) {
    throw new AppError(
      'usage',
      `"${excess[0].slice(0, 100)}" stands before --; the program and its arguments follow it`,
      {
        hint: 'for example: acs sandbox exec <id> -- ls -la',
      },
    );
  }
  if (program !== undefined && program.length > 0 && program[0] !== '') return program;
  throw new AppError(
    'usage',
    program === undefined ? 'the program is missing: it follows --' : 'no program follows --',
    {
      hint: 'for example: acs sandbox exec <id> -- ls -la',
    },
  );
}

/** `NAME=value`, or `NAME` for the value of this environment. */
function readEnvironment(given: readonly string[], own: Context['env']): Record<string, string> {
  const variables = given.map((text): [string, string] => {
    const equals = text.indexOf('=');
    const name = equals === -1 ? text : text.slice(0, equals);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new AppError(
        'usage',
        `--env takes NAME=value or NAME, and "${name.slice(0, 100)}" is not the name of a variable`,
      );
    }
    const value = equals === -1 ? own[name] : text.slice(equals + 1);
    if (value === undefined) throw new AppError('usage', `--env ${name}: this environment has no variable ${name}`);
    return [name, value];
  });
  return Object.fromEntries(variables);
}

/** Throws `unsupported` before anything is sent. */
export function requireSocket(server: Server, what: string): void {
  if (server.presence('exec-socket') === 'present') return;
  throw new AppError('unsupported', `this server cannot ${what}; the local service can`);
}

/** @returns stops the timer */
function onTime(ctx: Context, timeoutMs: number | undefined, fail: (error: AppError) => void): () => void {
  if (timeoutMs === undefined) return () => undefined;
  const stop = new AbortController();
  ctx.clock.sleep(Math.min(timeoutMs, LONGEST_TIMER_MS), stop.signal).then(
    () => {
      fail(
        new AppError('timeout', `the program was ended after ${formatDuration(timeoutMs)}`, {
          hint: 'allow more time: --timeout <duration>',
        }),
      );
    },
    () => undefined,
  );
  return () => stop.abort();
}
