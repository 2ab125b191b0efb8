import { Command, CommanderError, type Option } from 'commander';
import { explanationOf, childNamed } from '../commands/shared/declare.ts';
import { declareCommands } from '../commands/index.ts';
import { errorText } from '../output/render.ts';
import type { ProgramContext } from './create-context.ts';
import {
  AppError,
  isAppError,
  isDryRunStop,
  READER_GONE,
  type DryRunRequest,
  type ErrorKind,
} from '../base/errors.ts';
import { isForPrograms } from '../base/text/notice.ts';
import { declareRoot, guessFormat, readGlobalOptions } from './global-options.ts';

declare const ACS_VERSION: string;

interface Line {
  argv: readonly string[];
  context: ProgramContext;
  root: Command;
  command: Command | null;
  /** Kept until it is known whether it is an answer (stdout) or an error. */
  printed: string;
  help: Command | null;
}

/** @returns the exit code; never throws for what a user, a server or a file can cause. */
export async function run(argv: readonly string[], context: ProgramContext): Promise<number> {
  const root = new Command('acs');
  const line: Line = { argv, context, root, command: null, printed: '', help: null };
  const keep = (text: string): void => void (line.printed += text);
  const formatHelp = (command: Command): string => {
    line.help = command;
    return '';
  };
  try {
    root
      .showHelpAfterError(false)
      .configureOutput({ writeOut: keep, writeErr: keep })
      .configureHelp({ formatHelp })
      .exitOverride()
      .hook('preAction', async (_, command) => {
        line.command = command;
        context.globals = readGlobalOptions(root, command);
        refuseContradictions();
        await context.out.prepare();
      });
    declareRoot(root, ACS_VERSION);
    await declareCommands(root, context, argv);
    const refuseContradictions = watchContradictions(root);
    await root.parseAsync(withoutProgram(line), { from: 'user' });
    await context.out.close();
    return context.exitCode;
  } catch (error) {
    return await handleFailure(line, error);
  } finally {
    await context.dispose();
  }
}

/** Commander would read flags of acs in the program that a command runs. */
function withoutProgram({ root, argv }: Line): readonly string[] {
  const dashes = argv.indexOf('--');
  const command = commandPath(root, argv).at(-1);
  if (dashes === -1 || explanationOf(command)?.afterDashes !== 'program') return argv;
  command?.setOptionValue('program', argv.slice(dashes + 1));
  return argv.slice(0, dashes);
}

/** Options that set what another one sets, by their attribute. */
const SAME_AS: Readonly<Record<string, string>> = { timeout: 'waitTimeout', R: 'repo' };

/** Commander keeps the last of two contradicting flags: the returned check throws `usage`. */
function watchContradictions(command: Command): () => void {
  const bySetting = new Map<string, Option[]>();
  for (const option of command.options) {
    const setting = SAME_AS[option.attributeName()] ?? option.attributeName();
    bySetting.set(setting, [...(bySetting.get(setting) ?? []), option]);
  }
  const groups = [...bySetting.values()].filter(({ length }) => length > 1);
  const used = new Set<Option>();
  for (const option of groups.flat())
    command.on(`option:${option.name()}`, () => void used.add(option));
  const below = command.commands.map(watchContradictions);
  return () => {
    for (const options of groups) {
      const [one, other] = options
        .filter((option) => used.has(option))
        .map(({ long, short }) => long ?? short);
      if (other !== undefined)
        throw new AppError('usage', `${one} and ${other} cannot be combined`);
    }
    for (const refuse of below) refuse();
  };
}

/** `acs --help` and `--version` end with an error of commander too. */
const HELP_CODES = ['commander.helpDisplayed', 'commander.help', 'commander.version'];

async function handleFailure(line: Line, thrown: unknown): Promise<number> {
  const { context, root, argv } = line;
  let error = thrown;
  if (error instanceof CommanderError && HELP_CODES.includes(error.code)) {
    const words = unknownWords(root);
    if (words === null) return await printHelp(line);
    error = await root.parseAsync(words, { from: 'user' }).catch((failure: unknown) => failure);
  }
  if (error instanceof CommanderError) {
    const { usageError } = await import('./usage-error.ts');
    const names = commandPath(root, argv).map((command) => command.name());
    return await report(line, await usageError(error, names, root, context));
  }
  await context.out.abandon();
  if (isDryRunStop(error)) {
    await printRequests(context, error.requests);
    return 0;
  }
  const failure = failureOf(error);
  if (failure.exitCode !== READER_GONE) return await report(line, failure);
  // A command that waits ends before the outcome when its reader is gone; any other is complete.
  const { wait, follow } = line.command?.opts<{ wait?: unknown; follow?: unknown }>() ?? {};
  const waits = ['follow', 'wait', 'batch'].some((verb) => verb === line.command?.name());
  return [waits, wait, follow].includes(true) ? READER_GONE : 0;
}

async function printRequests(
  { out, globals: { format } }: ProgramContext,
  requests: readonly DryRunRequest[],
): Promise<void> {
  if (isForPrograms(format)) await out.documents([{ dry_run: true, requests }]);
  else {
    const texts = requests.map(({ method, url, body }) =>
      body == null ? `${method} ${url}\n` : `${method} ${url}\n${JSON.stringify(body, null, 2)}\n`,
    );
    await out.raw(texts.join('\n'));
  }
  await out.close();
}

/** Anything but an AppError is a bug. */
function failureOf(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const what = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const hint = 'run the command again with --debug and report the output';
  return new AppError('internal', `internal error (this is a bug in acs): ${what}`, {
    hint,
    cause,
  });
}

/** Null: each word names a command. Commander handles --help before it looks at the names. */
function unknownWords(command: Command): string[] | null {
  const [word] = command.args;
  if (word === undefined || word.startsWith('-') || command.commands.length === 0) return null;
  const known = childNamed(command, word);
  if (known === undefined) return [word];
  const below = unknownWords(known);
  return below === null ? null : [word, ...below];
}

async function printHelp(line: Line): Promise<number> {
  const { help, printed, context, root } = line;
  try {
    if (help === null) {
      await context.terminal.io.stdout.write(printed);
      return 0;
    }
    const { commandHelp } = await import('../commands/help/page.ts');
    if (root.opts<{ pager: boolean }>().pager) context.out.page();
    await context.out.raw(commandHelp(help, context.terminal.io.stdout.columns));
    await context.out.close();
  } catch (error) {
    if (!isAppError(error)) throw error;
    // `acs --help | head -1`: a reader that closes the pipe is not an error
    if (error.exitCode !== READER_GONE) return await report(line, error);
  }
  return 0;
}

async function report({ context, argv, root }: Line, error: AppError): Promise<number> {
  const commands = commandPath(root, argv);
  const { stderr } = context.terminal.io;
  const columns = stderr.isTTY ? stderr.columns : undefined;
  const { redact } = context.terminal;
  try {
    const palette = await context.terminal.palette();
    // The format of an error in the command line is taken from argv.
    const format = context.globals.format ?? guessFormat(argv);
    const help = ['acs', ...commands.map((command) => command.name()), '--help'].join(' ');
    const complete = completed(error, help, context.servers.urls());
    await stderr.write(errorText(complete, format, { palette, redact, columns }));
  } catch (failure) {
    // stderr is closed too: only the exit code can be reported
    if (!isAppError(failure)) throw failure;
  }
  if (error.kind === 'interrupted') return error.exitCode;
  return explanationOf(commands.at(-1))?.failureCode ?? error.exitCode;
}

const NEXT_STEPS: Partial<Record<ErrorKind, string>> = {
  auth: 'see which key is used: acs whoami',
  'rate-limited': 'try again later, or set a lower ACS_RATE',
  network: 'check the connection: acs doctor',
  timeout: 'wait longer: --wait-timeout <duration>',
  'unknown-outcome': 'check whether it was carried out before you try again',
};

/** Names the servers where no request is named: another server may have the id. */
function completed({ kind, message, details }: AppError, help: string, servers: readonly string[]) {
  const hint = details.hint ?? (kind === 'usage' ? `see: ${help}` : NEXT_STEPS[kind]);
  // A wrong configuration or file, and a bug, are not the server's.
  const isOfServer = !['config', 'internal'].includes(kind) && details.request === undefined;
  const server = isOfServer && servers.length > 0 ? { server: servers.join(', ') } : {};
  return new AppError(kind, message, { ...details, hint, ...server });
}

function commandPath(root: Command, argv: readonly string[]): Command[] {
  const path: Command[] = [];
  for (const word of argv) {
    const next = childNamed(path.at(-1) ?? root, word);
    if (next) path.push(next);
  }
  return path;
}
