/** The flags of `conv new`. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { GIT_PROVIDERS } from '../../domain/git-provider.ts';
import { AppError } from '../../errors.ts';
import { collect, duration, invalidValue, oneOf, positiveInteger } from '../option-parsers.ts';
import { addOnConfirm, checkOnConfirm, type OnConfirmOptions } from './answering.ts';
import { addWaitTimeout, checkLimitWithoutNoWait, type WaitOptions } from '../wait-limit.ts';

export interface NewOptions extends WaitOptions, OnConfirmOptions {
  file?: string;
  /** A value, false with --no-repo, undefined without either. */
  repo?: string | false;
  /** The short alias. */
  R?: string;
  branch?: string;
  gitProvider?: string;
  title?: string;
  model?: string;
  spec?: string;
  sandbox?: string;
  image?: string[];
  instructions?: string;
  mcpConfig?: string;
  replay?: string;
  suggestedTask?: string;
  microagent?: string;
  members?: string;
  id?: string;
  secret?: string[];
  confirm?: 'never' | 'risky' | 'always';
  api?: 'auto' | 'v0' | 'v1';
  /** True with --wait, false with --no-wait, undefined without either. */
  wait?: boolean;
  follow?: boolean;
  startTimeout: number;
  count?: number;
  stopOnTimeout?: boolean;
  stopOnInterrupt?: boolean;
  idFile?: string;
}

/** How long `conv new` stays: with the start task, until it has started, until its outcome. */
export type Stay = 'accepted' | 'started' | 'ended';

export const START_TIMEOUT_MS = 180_000;

export function addNewOptions(command: Command): Command {
  command.argument('[message]', 'the task of the agent; - reads it from stdin');
  return addStayOptions(addStartOptions(command));
}

/** What is started; not how long the command stays. */
export function addStartOptions(command: Command): Command {
  addTaskOptions(command);
  addServerOptions(command);
  return command;
}

function addTaskOptions(command: Command): void {
  command
    .optionsGroup('Task flags:')
    .option('-F, --file <file|->', 'read the message from this file')
    .option('-r, --repo <repository>', 'owner/name, a URL, a path or . (default: the current checkout)')
    .addOption(command.createOption('-R <repository>', 'same as --repo').hideHelp())
    .option('--no-repo', 'start without a repository')
    .option('-b, --branch <name>', 'the branch (default: the current branch of the checkout)', branchName)
    .option(
      '--git-provider <provider>',
      `the host of the repository: ${GIT_PROVIDERS.join(', ')}`,
      oneOf(...GIT_PROVIDERS),
    )
    .option('--title <title>', 'title of the conversation')
    .option('--image <file|url>', 'attach an image to the message (repeatable)', collect)
    .option('--instructions <file>', 'instructions that apply to all messages')
    .option(
      '--suggested-task <file|repo#n>',
      'work on a suggested task (acs repo tasks), as owner/name#12 or from a file',
    )
    .option('--microagent <file>', 'create a microagent; the file holds {"repo","git_provider","title"}')
    .option('--replay <file|demo>', 'replay a recorded run, without a model; `demo` is built in');
}

function addServerOptions(command: Command): void {
  command
    .optionsGroup('Sandbox and model flags:')
    .option('--model <name>', 'model of the conversation')
    .option('--spec <id>', 'create the sandbox from this spec')
    .option('--sandbox <id>', 'use an existing sandbox')
    .option('--mcp-config <file>', 'MCP servers of the conversation')
    .option('--secret <NAME>', 'pass the environment variable <NAME> as a secret (repeatable)', collect)
    .option('--members <file>', 'JSON object of further members of a V1 start')
    .option('--confirm <when>', 'actions that need approval: never, risky, always', oneOf('never', 'risky', 'always'))
    .option('--id <uuid>', 'id of the new conversation; repeating the start returns the same conversation')
    .option('--api <dialect>', 'dialect: auto, v0 or v1', oneOf('auto', 'v0', 'v1'));
}

function addStayOptions(command: Command): Command {
  addOnConfirm(command.optionsGroup('Wait flags:'))
    .option('--wait', 'return when the run has ended')
    .option('--no-wait', 'return as soon as the server has accepted the start')
    .option('-f, --follow', 'print the events, and return when the run has ended')
    .option('--count <n>', 'start the task n times, wait for the runs, and compare them', positiveInteger)
    .addOption(
      command
        .createOption('--start-timeout <duration>', 'time limit of the start')
        .argParser(duration)
        .default(START_TIMEOUT_MS, '3m'),
    );
  return addWaitTimeout(command, 'time limit of start and run (default with --wait or --follow: 1h off a terminal)')
    .option('--stop-on-timeout', 'stop the run when its time is up')
    .option('--stop-on-interrupt', 'stop the run when acs is interrupted')
    .option('--id-file <path>', 'write the id to this file as soon as it exists');
}

function branchName(value: string): string {
  if (value.trim() === '') throw invalidValue('It must name a branch.');
  return value;
}

export function stayOf({ wait, follow, count }: NewOptions): Stay {
  if (wait === false) return 'accepted';
  return wait === true || follow === true || count !== undefined ? 'ended' : 'started';
}

/** Throws `usage` for flags that contradict each other, before any read or prompt. */
export function checkNewOptions(ctx: Context, argument: string | undefined, options: NewOptions): void {
  const clash = (one: unknown, other: unknown, names: string): void => {
    if (one !== undefined && one !== false && other !== undefined && other !== false) {
      throw new AppError('usage', `${names} exclude each other`);
    }
  };
  clash(
    options.title,
    options.wait === false ? '--no-wait' : undefined,
    '--title, which is set once it has started, and --no-wait',
  );
  clash(options.spec, options.sandbox, '--spec and --sandbox');
  clash(options.suggestedTask, options.microagent, '--suggested-task and --microagent');
  clash(
    options.suggestedTask,
    argument ?? options.file,
    '--suggested-task, which brings its own message, and a message',
  );
  clash(options.count, options.wait === false ? '--no-wait' : undefined, '--count, which waits, and --no-wait');
  clash(options.count, options.follow, '--count and --follow');
  clash(options.count, options.id ?? options.idFile, '--count and --id or --id-file');
  clash(options.replay, options.suggestedTask ?? options.microagent, '--replay and --suggested-task or --microagent');
  checkOnConfirm(options, stayOf(options) === 'ended');
  checkLimitWithoutNoWait(options);
  if (options.wait === false && options.follow)
    throw new AppError('usage', '--no-wait and --follow exclude each other');
  if (options.repo === false && options.branch !== undefined) {
    throw new AppError('usage', '--branch needs a repository, and --no-repo says there is none');
  }
  const readsStdin = [argument === '-', options.file === '-', ctx.globals.apiKeyFile === '-'].filter(Boolean);
  if (readsStdin.length > 1) throw new AppError('usage', '"-" is given twice, and stdin can be read only once');
}
