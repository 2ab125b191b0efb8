import { Command, CommanderError, type Option } from 'commander';
import { explanationOf, childNamed } from '../commands/shared/declare.ts';
import { declareCommands } from '../commands/index.ts';
import { errorText } from '../output/render.ts';
import type { ProgramContext } from './create-context.ts';
import { AppError, isAppError, isDryRunStop, READER_GONE, type ErrorKind } from '../base/errors.ts';
import { declareRoot, guessFormat, readGlobalOptions } from './global-options.ts';
import { isSecretName } from '../base/text/secret-names.ts';

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

/**
 * Takes the program off the command line of a command that runs one: commander would read flags of
 * acs in it.
 */
function withoutProgram({ root, argv }: Line): readonly string[] {
  const dashes = argv.indexOf('--');
  const command = commandPath(root, argv).at(-1);
  if (dashes === -1 || command === undefined || failureCodeOf(command) === undefined) return argv;
  command.setOptionValue('program', argv.slice(dashes + 1));
  return argv.slice(0, dashes);
}

/** Options that set what another one sets, by their attribute. */
const SAME_AS: Readonly<Record<string, string>> = { timeout: 'waitTimeout', R: 'repo' };

/**
 * Commander keeps the last of two contradicting flags. The returned check throws `usage`, before
 * the action.
 */
function watchContradictions(command: Command): () => void {
  const bySetting = new Map<string, Option[]>();
  for (const option of command.options) {
    const setting = SAME_AS[option.attributeName()] ?? option.attributeName();
    bySetting.set(setting, [...(bySetting.get(setting) ?? []), option]);
  }
  const groups = [...bySetting.values()].filter(({ length }) => length > 1);
  const given = new Set<Option>();
  for (const option of groups.flat())
    command.on(`option:${option.name()}`, () => void given.add(option));
  const below = command.commands.map(watchContradictions);
  return () => {
    for (const options of groups) {
      const [one, other] = options
        .filter((option) => given.has(option))
        .map(({ long, short }) => long ?? short);
      if (other !== undefined)
        throw new AppError('usage', `${one} and ${other} cannot be combined`);
    }
    for (const refuse of below) refuse();
  };
}

async function handleFailure(line: Line, thrown: unknown): Promise<number> {
  const { context, root, argv } = line;
  let error = thrown;
  const helpCodes = ['commander.helpDisplayed', 'commander.help', 'commander.version'];
  if (error instanceof CommanderError && helpCodes.includes(error.code)) {
    const words = unknownWords(root);
    if (words === null) return await printHelp(line);
    error = await root.parseAsync(words, { from: 'user' }).catch((failure: unknown) => failure);
  }
  if (error instanceof CommanderError)
    return await report(line, usageError(error, commandWords(root, argv)));
  await context.out.abandon();
  if (isDryRunStop(error)) {
    const { out, globals } = context;
    const { requests } = error;
    if (globals.format === 'json' || globals.format === 'ndjson')
      await out.documents([{ dry_run: true, requests }]);
    else {
      const text = (body: unknown): string =>
        body == null ? '' : `${JSON.stringify(body, null, 2)}\n`;
      await out.raw(
        requests.map(({ method, url, body }) => `${method} ${url}\n${text(body)}`).join('\n'),
      );
    }
    await out.close();
    return 0;
  }
  if (!isAppError(error)) {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const hint = 'run the command again with --debug and report the output';
    error = new AppError('internal', `internal error (this is a bug in acs): ${what}`, {
      hint,
      cause: error,
    });
  }
  const failure = error as AppError;
  // A command that waits ends before the outcome when its reader is gone; any other command is
  // complete.
  if (failure.exitCode !== READER_GONE) return await report(line, failure);
  const { wait, follow } = line.command?.opts<{ wait?: unknown; follow?: unknown }>() ?? {};
  const waits =
    ['follow', 'wait', 'batch'].includes(line.command?.name() ?? '') ||
    wait === true ||
    follow === true;
  return waits ? READER_GONE : 0;
}

/**
 * Null: each word names a command. Commander handles --help first, so an unknown name is parsed
 * again without it.
 */
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
  // Globals are not set until the arguments are parsed: an error before that takes the format from
  // argv.
  const format = context.globals.format ?? guessFormat(argv);
  const complete = completed(error, commandWords(root, argv), context.servers.urls());
  const { stderr } = context.terminal.io;
  const columns = stderr.isTTY ? stderr.columns : undefined;
  try {
    const look = {
      palette: await context.terminal.palette(),
      redact: context.terminal.redact,
      columns,
    };
    await stderr.write(errorText(complete, format, look));
  } catch (failure) {
    // stderr is closed too: only the exit code can be reported
    if (!isAppError(failure)) throw failure;
  }
  if (error.kind === 'interrupted') return error.exitCode;
  return failureCodeOf(commandPath(root, argv).at(-1)) ?? error.exitCode;
}

const NEXT_STEPS: Partial<Record<ErrorKind, string>> = {
  auth: 'see which key is used: acs whoami',
  'rate-limited': 'try again later, or set a lower ACS_RATE',
  network: 'check the connection: acs doctor',
  timeout: 'wait longer: --wait-timeout <duration>',
  'unknown-outcome': 'check whether it was carried out before you try again',
};

/**
 * Names the servers where no request is named: an id that is not found is missing on that server
 * alone.
 */
function completed(
  error: AppError,
  words: readonly string[],
  servers: readonly string[],
): AppError {
  const { kind, message, details } = error;
  const help = `see: acs ${[...words, '--help'].join(' ')}`;
  const hint = details.hint ?? (kind === 'usage' ? help : NEXT_STEPS[kind]);
  // A wrong configuration or file, and a bug, are not the server's.
  const isOfServer =
    !['config', 'internal'].includes(kind) && details.request === undefined && servers.length > 0;
  return new AppError(kind, message, {
    ...details,
    hint,
    ...(isOfServer && { server: servers.join(', ') }),
  });
}

function commandWords(root: Command, argv: readonly string[]): string[] {
  return commandPath(root, argv).map((command) => command.name());
}

function commandPath(root: Command, argv: readonly string[]): Command[] {
  const path: Command[] = [];
  for (const word of argv) {
    const next = childNamed(path.at(-1) ?? root, word);
    if (next) path.push(next);
  }
  return path;
}

function failureCodeOf(command: Command | undefined): number | undefined {
  return command && explanationOf(command)?.failureCode;
}

/** Words of other command lines, and the command that does the same here. */
const WORDS_OF_OTHERS: Readonly<Record<string, string>> = {
  approve: 'acs conv confirm',
  reject: 'acs conv confirm --reject',
  interrupt: 'acs conv stop',
  cancel: 'acs conv stop',
  pause: 'acs sandbox pause',
  exec: 'acs sandbox exec',
  config: 'acs settings',
  version: 'acs --version',
};

/** Commander ends all of its errors with 1; here a wrong command line is 2. */
function usageError({ code, message: said }: CommanderError, words: readonly string[]): AppError {
  const see = `acs ${[...words, '--help'].join(' ')}`;
  const text = said.replace(/^error: /, '');
  const [, option, ofOption, ofArgument, argument, rule] = INVALID_VALUE.exec(text) ?? [];
  if (rule !== undefined) {
    const name = option === undefined ? argument : (/--[\w-]+/.exec(option)?.[0] ?? option);
    return new AppError(
      'usage',
      `invalid value '${ofOption ?? ofArgument}' of ${name}: it ${rule}`,
      {
        hint: `see: ${see}`,
      },
    );
  }
  const [message = '', suggestion = ''] = text.split('\n');
  const unknown =
    code === 'commander.unknownCommand' ? /^unknown command '(\w+)'/.exec(message)?.[1] : undefined;
  const same =
    unknown !== undefined && Object.hasOwn(WORDS_OF_OTHERS, unknown)
      ? WORDS_OF_OTHERS[unknown]
      : undefined;
  const guess = same
    ? `did you mean ${same}?`
    : suggestion.replace(/[()]/g, '').trim().replace(/^D/, 'd');
  const hint = guess === '' ? `see: ${see}` : `${guess} See: ${see}`;
  // An option that does not exist may hold a secret, such as `--api-key=…`: only its name is
  // repeated.
  const name =
    code === 'commander.unknownOption'
      ? /^unknown option '(--[\w-]+|-\w)/.exec(message)?.[1]
      : undefined;
  if (name === undefined) return new AppError('usage', message, { hint });
  const isKey = isSecretName(name.replace(/^-+/, ''), 'argument');
  return new AppError('usage', `unknown option '${name}'`, {
    hint: isKey
      ? 'the key of a server is given with --api-key-file <path|->, or in ACS_API_KEY'
      : hint,
  });
}

const INVALID_VALUE =
  /^(?:option '(.+?)' argument '([^]*)' is invalid|command-argument value '([^]*)' is invalid for argument '(.+?)')\. It ([^]*)$/;
