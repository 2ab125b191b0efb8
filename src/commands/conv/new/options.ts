import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { GIT_PROVIDERS } from '../../../domain/git-provider.ts';
import { AppError } from '../../../base/errors.ts';
import { limitsAfter, type Limits } from '../../../runs/deadline.ts';
import { collect, invalidValue, oneOf, positiveInteger } from '../../shared/option-parsers.ts';
import {
  addWaitTimeout,
  checkLimitWithoutNoWait,
  limitsOf,
  type WaitOptions,
} from '../../shared/wait-limit.ts';
import { addOnConfirm, checkOnConfirm, type OnConfirmOptions } from '../confirm.ts';
import { checkTitle } from '../rename.ts';

export interface NewOptions extends WaitOptions, OnConfirmOptions {
  file?: string;
  /** A value, false with --no-repo, undefined without either. */
  repo?: string | false;
  branch?: string;
  gitProvider?: string;
  workspace?: string;
  withChanges?: boolean;
  /** False with --no-dependencies. */
  dependencies?: boolean;
  title?: string;
  model?: string;
  spec?: string;
  sandbox?: string;
  image?: string[];
  instructions?: string;
  mcpConfig?: string;
  replay?: string;
  body?: string;
  id?: string;
  secret?: string[];
  confirm?: 'never' | 'risky' | 'always';
  api?: 'auto' | 'v0' | 'v1';
  wait?: boolean;
  follow?: boolean;
  count?: number;
  stopOnExit?: boolean;
  idFile?: string;
}

export function addNewOptions(command: Command): Command {
  addStartOptions(command.argument('[message]', 'the task of the agent; - reads it from stdin'));
  command
    .optionsGroup('Wait flags:')
    .option('--wait', 'return when the run has ended')
    .option('--no-wait', 'return when the server has accepted the start')
    .option('-f, --follow', 'as --wait, and print the events');
  addOnConfirm(addWaitTimeout(command, 'limit (default 3m; with --wait 1h outside a terminal)'))
    .option('--stop-on-exit', 'stop the run when acs ends before it')
    .option('--id-file <path>', 'write the id to this file')
    .option('--count <n>', 'start it n times, and compare the runs', positiveInteger);
  return command;
}

export function addStartOptions(command: Command): Command {
  return command
    .optionsGroup('Start flags:')
    .option('-F, --file <file|->', 'read the message from this file')
    .option('-r, --repo <repository>', 'owner/name, a URL, a path or . (default .)')
    .addOption(command.createOption('-R <repository>', 'same as --repo').hideHelp())
    .on('option:R', (repository: string) => command.setOptionValue('repo', repository))
    .option('--no-repo', 'start without a repository')
    .option('-b, --branch <name>', 'default: the current branch', (value: string) => {
      if (value.trim() === '') throw invalidValue('It must name a branch.');
      return value;
    })
    .option('--git-provider <name>', 'host of owner/name, such as github', oneOf(...GIT_PROVIDERS))
    .option('--with-changes', 'take uncommitted changes and unpushed commits along')
    .option('--no-dependencies', 'do not copy node_modules, .venv, vendor, target')
    .option('--workspace <path>', "work in this folder of the server's machine")
    .option('--title <title>', 'title of the conversation')
    .option('--model <name>', 'model of the conversation')
    .option('--spec <id>', 'create the sandbox from this spec')
    .option('--sandbox <id>', 'use an existing sandbox')
    .option('--image <file|url>', 'attach an image to the message (repeatable)', collect)
    .option('--instructions <file>', 'instructions that apply to all messages')
    .option('--mcp-config <file>', 'MCP servers of the conversation')
    .option('--replay <file|demo>', 'replay a recorded run, without a model')
    .option('--id <uuid>', 'id of the conversation (an existing one is kept)')
    .option('--secret <NAME>', 'pass this environment variable (repeatable)', collect)
    .option(
      '--confirm <when>',
      'approval of actions: never, risky or always',
      oneOf('never', 'risky', 'always'),
    )
    .option('--api <dialect>', 'auto, v0 or v1', oneOf('auto', 'v0', 'v1'))
    .option('--body <file>', 'JSON object with further members of the request');
}

export function untilOf({ wait, follow, count }: NewOptions): 'accepted' | 'started' | 'ended' {
  if (wait === false) return 'accepted';
  return wait === true || follow === true || count !== undefined ? 'ended' : 'started';
}

export function newLimits(ctx: Context, options: NewOptions): Limits {
  const isDefault = (options.waitTimeout ?? options.timeout) === undefined;
  return isDefault && untilOf(options) !== 'ended'
    ? limitsAfter(ctx, 180_000)
    : limitsOf(ctx, options);
}

const CLASHES = [
  // The title is set after the start.
  '--title --no-wait',
  '--follow --no-wait',
  '--stop-on-exit --no-wait',
  '--count --no-wait',
  '--count --follow',
  '--count --id',
  '--count --id-file',
  '--spec --sandbox',
  '--branch --no-repo',
  '--workspace --repo',
  '--workspace --no-repo',
  '--workspace --branch',
  '--no-dependencies --no-repo',
  '--no-dependencies --workspace',
  '--with-changes --branch',
  '--with-changes --no-repo',
  '--with-changes --workspace',
  '--with-changes --sandbox',
  '--with-changes --count',
];

/** The long flag of an option, by its name in commander. */
export function flagOf(name: string, value: unknown): string {
  const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return value === false ? `--no-${words}` : `--${words}`;
}

/** Throws `usage` for flags that contradict each other, before any read or prompt. */
export function checkNewOptions(
  ctx: Context,
  argument: string | undefined,
  options: NewOptions,
): void {
  const given = new Set(Object.entries(options).map(([name, value]) => flagOf(name, value)));
  for (const clash of CLASHES) {
    const [one = '', other = ''] = clash.split(' ');
    if (given.has(one) && given.has(other))
      throw new AppError('usage', `${one} and ${other} cannot be combined`);
  }
  checkOnConfirm(options, untilOf(options) === 'ended');
  checkLimitWithoutNoWait(options);
  if (options.title !== undefined) checkTitle(options.title);
  const readers = [argument, options.file, ctx.globals.apiKeyFile].filter(
    (source) => source === '-',
  );
  if (readers.length > 1)
    throw new AppError('usage', '"-" is given twice, and stdin can be read only once');
}
