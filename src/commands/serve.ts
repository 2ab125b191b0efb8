import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { LocalService, RunningStatus, ServeOptions } from '../service-control.ts';
import { explain, type CommandHelp } from './declare.ts';
import { printWouldDo } from './dry-run.ts';
import { unreadable } from './files.ts';
import { duration, oneOf } from './option-parsers.ts';
import { prune } from './serve-prune.ts';
import { refuseOtherDataDir, runningAlready } from './serve-running.ts';
import { portNumber, pruneView, readyShape, startedView, statusView, stoppedView } from './serve-view.ts';

const APIS = ['v0', 'v1', 'both'] as const;
const SPECS = ['bubblewrap', 'bubblewrap-offline', 'process'] as const;

interface ServeFlags {
  detach?: boolean;
  status?: boolean;
  stop?: boolean;
  logs?: boolean;
  prune?: number;
  host?: string;
  port?: number;
  dataDir?: string;
  api?: (typeof APIS)[number];
  spec?: (typeof SPECS)[number];
  idleTimeout?: number;
  scenario?: string;
  replay?: string;
}

const SCENARIO_HELP: Exclude<NonNullable<CommandHelp['notes']>[number], string> = {
  title:
    'The file of --scenario is JSON: a list of rules, or {"note","rules":[…]}. The first rule that matches a request applies; routes below /local/ never match. Members of a rule:',
  items: [
    ['server', 'app, or agent: the agent servers of sandboxes and their web sockets'],
    ['method, path', 'which requests match; * and ** in the path are wildcards'],
    ['after', 'number of matching requests that are not changed at first'],
    ['every', 'apply the rule only to every n-th matching request'],
    ['times', 'apply the rule at most so many times (default: no limit)'],
    ['latency', 'delay of the answer'],
    ['status, headers, body, content_type', 'replace these parts of the answer'],
    ['cut', 'close the connection: before-headers, after-headers, mid-body; of a web socket after-frames, with frames'],
    ['delivered', 'whether the service handles the request (default: no with status, body and before-headers)'],
    ['note', 'text for the log'],
  ],
};

const DEMO = 'demo';
const REPLAY_HELP =
  '--replay is for clients that cannot name a replay: their conversations replay this run, over V0, V1 and the agent servers. The file is read when the service starts; conv new --replay takes precedence.';

const MODES = ['detach', 'status', 'stop', 'logs', 'prune'] as const;

export function declareServe(root: Command, ctx: Context): void {
  const command = root
    .command('serve')
    .description('run the local service, a server on this machine')
    .option('--detach', 'start the service in the background, unless it is running')
    .option('--status', 'show whether the service is running, without starting it')
    .option('--stop', 'stop the service and its sandboxes')
    .option('--logs', 'print the log of the background service')
    .option(
      '--prune <age>',
      'delete conversations and sandboxes that are not running and were unused for this long',
      duration,
    )
    .option('--host <address>', 'listen on this address (default: loopback)')
    .option('--port <n>', 'listen on this port (default: a free port)', portNumber)
    .option('--data-dir <dir>', 'directory of its data (default: ACS_DATA_DIR, or the data directory of the platform)')
    .option('--api <v0|v1|both>', 'dialects that it serves (default both)', oneOf(...APIS))
    .option(
      '--spec <name>',
      'default spec of sandboxes: bubblewrap, bubblewrap-offline or process (default: bubblewrap where it works)',
      oneOf(...SPECS),
    )
    .option(
      '--idle-timeout <duration>',
      'stop after this long without a run or client (default 30m; 0s: never)',
      duration,
    )
    .option('--scenario <file>', 'inject faults into requests as a file describes, to test scripts')
    .option('--replay <file|demo>', 'replay this run in conversations that name none, while no model is set')
    .action(async (flags: ServeFlags) => serve(flags, ctx));
  explain(command, {
    notes: [
      'Without a flag the service runs in the foreground until Ctrl-C. Commands that use the built-in profile `local` start it in the background. --prune asks for confirmation unless -y is given.',
      SCENARIO_HELP,
      REPLAY_HELP,
    ],
    json: ({ objectForm }) => [
      ['foreground', objectForm(readyShape)],
      ['--detach', objectForm(startedView, 'changed')],
      ['--status', objectForm(statusView)],
      ['--stop', objectForm(stoppedView, 'changed')],
      ['--prune', objectForm(pruneView, 'changed')],
    ],
    exits: ['conflict', 'unsupported', 'interrupted'],
    examples: [
      { command: 'acs serve --status --json', does: 'print whether it is running, as JSON' },
      { command: 'acs serve --scenario examples/faults.json', does: 'inject the faults of the file' },
      { command: 'acs serve --detach --replay run.json', does: 'replay run.json in the conversations of any client' },
      {
        command: 'acs serve --stop',
        does: 'stop it and pause its sandboxes, which can be resumed after the next start',
      },
    ],
  });
}

async function serve(flags: ServeFlags, ctx: Context): Promise<void> {
  const modes = MODES.filter((mode) => flags[mode] !== undefined);
  if (modes.length > 1)
    throw new AppError('usage', `these flags cannot be combined: ${modes.map((mode) => `--${mode}`).join(', ')}`);
  const options = serveOptions(flags, ctx);
  for (const flag of ['scenario', 'replay'] as const) {
    if (options[flag] !== undefined && modes[0] !== undefined && modes[0] !== 'detach')
      throw new AppError('usage', `--${flag} cannot be combined with --${modes[0]}`);
  }
  switch (modes[0]) {
    case 'status':
      return await showStatus(options, ctx);
    case 'stop':
      return await stop(options, ctx);
    case 'logs':
      return await printLogs(options, ctx);
    case 'prune':
      return await prune(flags.prune ?? 0, options, ctx);
    case 'detach':
      return await detach(options, ctx);
    case undefined:
      return await runInForeground(options, ctx);
  }
}

function serveOptions(flags: ServeFlags, ctx: Context): ServeOptions {
  const { host, port, api, spec, dataDir, idleTimeout, scenario, replay } = flags;
  if (host?.trim() === '') throw new AppError('usage', '--host is empty');
  if (scenario?.trim() === '') throw new AppError('usage', '--scenario is empty');
  if (replay?.trim() === '') throw new AppError('usage', '--replay is empty');
  if (dataDir?.trim() === '') throw new AppError('usage', '--data-dir is empty');
  return {
    host,
    port,
    api,
    spec,
    dataDir: dataDir === undefined ? undefined : path.resolve(ctx.cwd, dataDir),
    idleTimeoutMs: idleTimeout,
    scenario: scenario === undefined ? undefined : path.resolve(ctx.cwd, scenario),
    replay: replay === undefined || replay === DEMO ? replay : path.resolve(ctx.cwd, replay),
  };
}

async function runInForeground(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(null, 'stream');
  const service = await ctx.localService();
  await prepare(options, service); // the log, which goes to stderr here, has the notice of the scenario
  const printReady = (ready: { url: string; pid: number; data_dir: string }): Promise<void> =>
    ctx.out.record({ type: 'ready', ...ready }, `${ready.url} (pid ${ready.pid}, data in ${ready.data_dir})`);
  const status = await runningAlready(options, service);
  if (ctx.globals.mode === 'dry-run') return await printWouldStart(status, ctx);
  if (status !== null) {
    const { url, pid, data_dir, version } = status;
    await printReady({ url, pid, data_dir });
    return await ctx.notice(`it was already running (version ${version})`);
  }
  await warnOfHost(options, ctx);
  await service.run({
    ...options,
    signal: ctx.signal,
    onReady: async (ready) => {
      await printReady(ready);
      if (ctx.interactive) await ctx.notice('press Ctrl-C to stop it');
    },
  });
  ctx.signal.throwIfAborted();
}

async function detach(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(startedView, 'item');
  const service = await ctx.localService();
  const faults = await prepare(options, service);
  if (ctx.globals.mode === 'dry-run') return await printWouldStart(await runningAlready(options, service), ctx);
  await warnOfHost(options, ctx);
  const { url, pid, started, notice } = await service.ensure(options);
  if (started === 'before') await runningAlready(options, service);
  const { data_dir: dataDir } = await service.status(options.dataDir);
  await ctx.out.item(startedView, { url, pid, data_dir: dataDir }, { changed: started === 'now' });
  if (faults !== null) await ctx.notice(faults);
  if (notice !== null) await ctx.notice(notice);
  else if (started === 'before') await ctx.notice('it was already running');
}

/** Checks the flags of a start before anything starts. Returns the notice of its scenario; null without one. */
async function prepare(options: ServeOptions, service: LocalService): Promise<string | null> {
  await refuseOtherDataDir(options, service);
  const faults = await scenarioNotice(options, service);
  if (options.replay !== undefined) await service.checkReplay(options.replay);
  return faults;
}

async function printWouldStart(running: RunningStatus | null, ctx: Context): Promise<void> {
  const what =
    running === null ? 'would start the local service' : `the local service is already running (pid ${running.pid})`;
  await printWouldDo(ctx, what);
}

async function scenarioNotice({ scenario }: ServeOptions, service: LocalService): Promise<string | null> {
  if (scenario === undefined) return null;
  const count = await service.checkScenario(scenario);
  return `fault injection: ${count} ${count === 1 ? 'rule' : 'rules'} of ${scenario}; acs serve --logs lists the requests they change`;
}

async function showStatus(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(statusView, 'item');
  await ctx.out.item(statusView, await (await ctx.localService()).status(options.dataDir));
}

async function stop(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(stoppedView, 'item');
  const service = await ctx.localService();
  const before = await service.status(options.dataDir);
  if (ctx.globals.mode === 'dry-run') {
    const what = before.running
      ? `would stop the local service (pid ${before.pid})`
      : 'the local service is not running';
    return await printWouldDo(ctx, what);
  }
  const { stopped, pid } = await service.stop(options.dataDir);
  await ctx.out.item(stoppedView, { pid, data_dir: before.data_dir }, { changed: stopped === 'now' });
  if (stopped === 'was-not-running') await ctx.notice('the local service was not running');
}

async function printLogs(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  const file = await (await ctx.localService()).logFile(options.dataDir);
  try {
    for await (const chunk of createReadStream(file)) await ctx.out.raw(chunk as Uint8Array);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadableLog(file, error);
    await ctx.notice(`no log yet: ${file}`);
  }
}

function unreadableLog(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === undefined || syscall === undefined ? error : unreadable(file, error);
}

async function warnOfHost(options: ServeOptions, ctx: Context): Promise<void> {
  const { host } = options;
  if (host === undefined || /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host)) return;
  await ctx.warn(`other machines can reach ${host}; anyone who has the key can run commands on this machine`);
}
