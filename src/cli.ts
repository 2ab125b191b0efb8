/**
 * One command line from arguments to exit code. The tree of commands is built anew for each run; whatever is thrown
 * below is caught here, once, and becomes a line on stderr and a code.
 */
import { Command, CommanderError } from 'commander';
import { watchContradictions } from './commands/contradictions.ts';
import { explanationOf } from './commands/declare.ts';
import { childNamed } from './commands/entries.ts';
import { declareCommands } from './commands/index.ts';
import type { Context, DryRunRequest } from './context.ts';
import { AppError, isAppError, READER_GONE } from './errors.ts';
import { declareGlobalOptions, guessFormat, readGlobalOptions } from './global-options.ts';
import { printDryRun, printError, withNextStep, withServer } from './report.ts';

declare const ACS_VERSION: string;

/** The output of commander, kept until it is known whether it is an answer (stdout) or an error. */
interface CommanderOutput {
  text: string;
  /** The command whose help was requested. It is laid out afterwards, by code that no other command loads. */
  help: Command | null;
}

/** How far the command line was understood. */
interface Current {
  /** The command whose action began. */
  command: Command | null;
  root: Command | null;
}

/** @returns the exit code; never throws for what a user, a server or a file can cause. */
export async function run(argv: readonly string[], context: Context): Promise<number> {
  const output: CommanderOutput = { text: '', help: null };
  const current: Current = { command: null, root: null };
  try {
    const root = await commandTree(argv, context, output, current);
    await parse(root, withoutProgram(root, argv));
    await context.out.close();
    if (context.dryRun.requests.length > 0) await printDryRun(context);
    return context.exitCode;
  } catch (error) {
    return await concludeError(error, { argv, context, output, ...current });
  } finally {
    await context.dispose();
  }
}

/** Commander handles --help before it checks the command name: an unknown name is parsed again without --help. */
async function parse(root: Command, argv: readonly string[]): Promise<void> {
  try {
    await root.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    const words = error instanceof CommanderError && isHelp(error) ? unknownWords(root) : null;
    if (words === null) throw error;
    await root.parseAsync(words, { from: 'user' });
  }
}

/** The words of the command path up to and including the first unknown one; null when each names a command. */
function unknownWords(command: Command): string[] | null {
  const [word] = command.args;
  if (word === undefined || word.startsWith('-') || command.commands.length === 0) return null;
  const known = childNamed(command, word);
  if (known === undefined) return [word];
  const below = unknownWords(known);
  return below === null ? null : [word, ...below];
}

/** Takes the program off the command line of a command that runs one: commander would read flags of acs in it. */
function withoutProgram(root: Command, argv: readonly string[]): readonly string[] {
  const dashes = argv.indexOf('--');
  if (dashes === -1) return argv;
  const command = commandPath(root, argv).at(-1);
  if (failureCodeOf(command) === undefined) return argv;
  command?.setOptionValue('program', argv.slice(dashes + 1));
  return argv.slice(0, dashes);
}

async function commandTree(
  argv: readonly string[],
  context: Context,
  output: CommanderOutput,
  current: Current,
): Promise<Command> {
  const root = new Command('acs');
  current.root = root;
  const keep = (text: string) => {
    output.text += text;
  };
  root
    .description('Start and manage agent conversations on OpenHands servers.')
    .usage('<command> [options]')
    .showHelpAfterError(false)
    .configureOutput({ writeOut: keep, writeErr: keep })
    .configureHelp({
      formatHelp(command) {
        output.help = command;
        return '';
      },
    })
    .exitOverride()
    .hook('preAction', async (_, command) => {
      current.command = command;
      context.globals = readGlobalOptions(root);
      refuseContradictions();
      await context.out.prepare();
    });
  declareGlobalOptions(root, ACS_VERSION);
  await declareCommands(root, context, argv);
  const refuseContradictions = watchContradictions(root);
  return root;
}

interface Ending {
  argv: readonly string[];
  context: Context;
  output: CommanderOutput;
  command: Command | null;
  root: Command | null;
}

async function concludeError(error: unknown, ending: Ending): Promise<number> {
  const { context, output } = ending;
  if (error instanceof CommanderError) {
    if (isHelp(error)) return await printHelp(output, ending);
    const { argv, root } = ending;
    const { usageError } = await import('./usage-error.ts');
    return await report(usageError(error, root === null ? [] : commandWords(root, argv)), ending);
  }
  await context.out.abandon();
  if (isDryRunStop(error)) {
    context.dryRun.requests.push(...error.requests);
    await printDryRun(context);
    return 0;
  }
  if (isAppError(error)) {
    if (error.exitCode === READER_GONE) return waits(ending.command) ? READER_GONE : 0;
    return await report(error, ending);
  }
  return await report(
    new AppError('internal', `internal error (this is a bug in acs): ${describe(error)}`, {
      hint: 'run the command again with --debug and report the output',
      cause: error,
    }),
    ending,
  );
}

async function report(error: AppError, { context, argv, root }: Ending): Promise<number> {
  // Globals are not set until the arguments are parsed: an error before that takes the format from argv.
  const format = context.globals.format ?? guessFormat(argv);
  try {
    await printError(context, withServer(withHelp(error, root, argv), context.connectedServers()), format);
  } catch (failure) {
    if (!isAppError(failure)) throw failure; // stderr is closed too: only the exit code can be reported
  }
  const isOwnCode = error.kind === 'unsupported' || error.kind === 'interrupted';
  const command = root === null ? undefined : commandPath(root, argv).at(-1);
  return isOwnCode ? error.exitCode : (failureCodeOf(command) ?? error.exitCode);
}

function failureCodeOf(command: Command | undefined): number | undefined {
  return command === undefined ? undefined : explanationOf(command)?.failureCode;
}

async function printHelp({ text, help }: CommanderOutput, ending: Ending): Promise<number> {
  const { stdout } = ending.context.io;
  try {
    if (help === null) await stdout.write(text);
    else await stdout.write((await import('./commands/help/command.ts')).commandHelp(help, stdout.columns));
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.exitCode !== READER_GONE) return await report(error, ending);
    // `acs --help | head -1`: a reader that closes the pipe is not an error
  }
  return 0;
}

function isHelp(error: CommanderError): boolean {
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code);
}

/** Adds the --help of its command as the hint of a usage error that has no hint. */
function withHelp(error: AppError, root: Command | null, argv: readonly string[]): AppError {
  if (error.kind !== 'usage' || error.details.hint !== undefined) return withNextStep(error);
  const words = root === null ? [] : commandWords(root, argv);
  const hint = `see: acs ${[...words, '--help'].join(' ')}`;
  return new AppError(error.kind, error.message, { ...error.details, hint });
}

/** The words that name a command. */
function commandWords(root: Command, argv: readonly string[]): string[] {
  return commandPath(root, argv).map((command) => command.name());
}

/** The commands that the words name, from below the root: the values of flags before them, and arguments, do not. */
function commandPath(root: Command, argv: readonly string[]): Command[] {
  const path: Command[] = [];
  for (const word of argv) {
    const next = childNamed(path.at(-1) ?? root, word);
    if (next) path.push(next);
  }
  return path;
}

/** Whether the command waits: a closed pipe then ends it before the outcome (141). Any other command is complete (0). */
function waits(command: Command | null): boolean {
  if (!command) return false;
  const options = command.opts<{ wait?: unknown; follow?: unknown }>();
  return ['follow', 'wait', 'batch'].includes(command.name()) || options.wait === true || options.follow === true;
}

function isDryRunStop(error: unknown): error is { requests: DryRunRequest[] } {
  return (error as { tag?: unknown } | null)?.tag === 'acs.DryRunStop';
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
