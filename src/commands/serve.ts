import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { LocalService, ServeOptions } from '../service-control.ts';
import { explain } from './declare.ts';
import { printWouldDo } from './dry-run.ts';
import { duration, oneOf } from './options.ts';
import { prune } from './serve-prune.ts';
import { END_IT, refuseOtherDataDir, refuseOtherFlags } from './serve-running.ts';
import { portNumber, startedView, statusView, stoppedView } from './serve-view.ts';

const APIS = ['v0', 'v1', 'both'] as const;

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
  idleTimeout?: number;
  scenario?: string;
  replay?: string;
}

const SCENARIO_HELP = `--scenario reads JSON: a list of rules, or {"note","rules":[…]}. The first rule that hits a request decides.
  which   server (app; agent: the agent servers of sandboxes, and their web sockets), method, path (with * and **);
          then after (leave so many alone), every (hit each so many-th), times (hit so many, default all)
  what    latency, status, headers, body, content_type, cut (before-headers, after-headers, mid-body; a web socket:
          after-frames, with frames), delivered (whether the service gets the request and acts on it; default: not
          with status, body, and cut before-headers), note
Routes below /local/, by which acs finds its service, are never hit.`;

const DEMO = 'demo';
const REPLAY_HELP = `--replay is for clients that cannot name a replay: their conversations play it, over V0, V1 and the agent servers.
It is read once, when the service starts, and kept until that service ends; conv new --replay takes precedence.`;

const MODES = ['detach', 'status', 'stop', 'logs', 'prune'] as const;

export function declareServe(root: Command, ctx: Context): void {
  const command = root
    .command('serve')
    .description('run the local service: the whole server interface on this machine, without account or container')
    .option('--detach', 'start it in the background, unless it runs already')
    .option('--status', 'show whether it runs; never starts it')
    .option('--stop', 'end it and everything it started')
    .option('--logs', 'print the log of the service in the background')
    .option('--prune <age>', 'delete what does not run and was not used for this long, e.g. 30d; asks first', duration)
    .option('--host <address>', 'listen there instead of on loopback')
    .option('--port <n>', 'listen on this port (default: one that is free)', portNumber)
    .option('--data-dir <dir>', 'keep its data there (default: ACS_DATA_DIR, else the data directory of the platform)')
    .option('--api <v0|v1|both>', 'dialects it speaks (default both)', oneOf(...APIS))
    .option(
      '--idle-timeout <duration>',
      'end after this long without a run or client (default 30m, 0s = never)',
      duration,
    )
    .option('--scenario <file>', 'weather: make requests go wrong as this file says, to test scripts')
    .option(
      '--replay <file|demo>',
      'carry out this recorded run in conversations that name none, while no model is set',
    )
    .action(async (flags: ServeFlags) => serve(flags, ctx));
  explain(command, {
    notes: [
      'Without a flag it runs in the foreground until Ctrl-C, and nothing outlives it. Commands that need the\n' +
        'built-in profile `local` start it in the background by themselves.',
      SCENARIO_HELP,
      REPLAY_HELP,
    ],
    json: [
      'foreground: {"type":"ready","url","pid","data_dir"}',
      '--detach:   {"url","pid","data_dir","changed"}',
      '--status:   {"running","url","pid","version","started_at","data_dir","conversations_running","sandboxes_running","scenario","replay"}',
      '--stop:     {"pid","data_dir","changed"}',
      '--prune:    {"conversations","sandboxes","changed"}',
    ],
    exits: ['conflict', 'unsupported', 'interrupted'],
    examples: [
      { command: 'acs serve --status --json', does: 'whether it runs, for a script' },
      { command: 'acs serve --scenario examples/weather.json', does: 'busy, slow and cut off as the file says' },
      { command: 'acs serve --detach --replay run.json', does: 'conversations of any client carry out run.json' },
      { command: 'acs serve --stop', does: 'ends it and all its sandboxes; they can be resumed after the next start' },
    ],
  });
}

async function serve(flags: ServeFlags, ctx: Context): Promise<void> {
  const modes = MODES.filter((mode) => flags[mode] !== undefined);
  if (modes.length > 1)
    throw new AppError('usage', `these exclude each other: ${modes.map((mode) => `--${mode}`).join(', ')}`);
  const options = serveOptions(flags, ctx);
  for (const flag of ['scenario', 'replay'] as const) {
    if (options[flag] !== undefined && modes[0] !== undefined && modes[0] !== 'detach')
      throw new AppError('usage', `--${flag} is for a start: it does not go with --${modes[0]}`);
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
  const { host, port, api, dataDir, idleTimeout, scenario, replay } = flags;
  if (host?.trim() === '') throw new AppError('usage', '--host is empty');
  if (scenario?.trim() === '') throw new AppError('usage', '--scenario is empty');
  if (replay?.trim() === '') throw new AppError('usage', '--replay is empty');
  if (dataDir?.trim() === '') throw new AppError('usage', '--data-dir is empty');
  return {
    host,
    port,
    api,
    dataDir: dataDir === undefined ? undefined : path.resolve(ctx.cwd, dataDir),
    idleTimeoutMs: idleTimeout,
    scenario: scenario === undefined ? undefined : path.resolve(ctx.cwd, scenario),
    replay: replay === undefined || replay === DEMO ? replay : path.resolve(ctx.cwd, replay),
  };
}

async function runInForeground(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(null, 'stream');
  const service = await ctx.localService();
  await refuseOtherDataDir(options, service);
  await weatherOf(options, service); // the log, which goes to stderr here, tells of it
  if (options.replay !== undefined) await service.checkReplay(options.replay);
  if (ctx.globals.mode === 'dry-run') {
    const { running, pid, data_dir: dataDir } = await service.status(options.dataDir);
    if (running) throw new AppError('conflict', `another local service (pid ${pid}) is using ${dataDir}`, END_IT);
    return await printWouldDo(ctx, 'would start the local service');
  }
  await warnOfHost(options, ctx);
  await service.run({
    ...options,
    signal: ctx.signal,
    onReady: async (ready) => {
      await ctx.out.record({ type: 'ready', ...ready }, `${ready.url} (pid ${ready.pid}, data in ${ready.data_dir})`);
      if (ctx.interactive) await ctx.notice('Ctrl-C ends it');
    },
  });
  ctx.signal.throwIfAborted();
}

async function detach(options: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(startedView, 'item');
  const service = await ctx.localService();
  await refuseOtherDataDir(options, service);
  const weather = await weatherOf(options, service);
  if (options.replay !== undefined) await service.checkReplay(options.replay);
  if (ctx.globals.mode === 'dry-run') {
    const status = await service.status(options.dataDir);
    const { running, pid } = status;
    if (running && weather !== null) throw runsWithout(pid);
    refuseOtherFlags(options, status);
    const what = running ? `the local service runs already (pid ${pid})` : 'would start the local service';
    return await printWouldDo(ctx, what);
  }
  await warnOfHost(options, ctx);
  const { url, pid, started, notice } = await service.ensure(options);
  if (weather !== null && started === 'before') throw runsWithout(pid);
  const status = await service.status(options.dataDir);
  if (started === 'before') refuseOtherFlags(options, status);
  const { data_dir: dataDir } = status;
  await ctx.out.item(startedView, { url, pid, data_dir: dataDir }, { changed: started === 'now' });
  if (weather !== null) await ctx.notice(weather);
  if (notice !== null) await ctx.notice(notice);
  else if (started === 'before') await ctx.notice('it was running already');
}

/** What a start with a scenario is told; null: fair weather. The file is checked before anything starts. */
async function weatherOf({ scenario }: ServeOptions, service: LocalService): Promise<string | null> {
  if (scenario === undefined) return null;
  const count = await service.checkScenario(scenario);
  return `weather: ${count} ${count === 1 ? 'rule' : 'rules'} of ${scenario}; acs serve --logs names each request that meets one`;
}

/** A script would be tested in fair weather, or in one that has passed in part, and would not know. */
function runsWithout(pid: number | null): AppError {
  return new AppError('conflict', `the local service runs already (pid ${pid}), without this scenario`, END_IT);
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
    await ctx.notice(`there is no log yet: ${file}`);
  }
}

function unreadableLog(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  return new AppError('config', `cannot read ${file}: ${code}`, { cause: error });
}

async function warnOfHost(options: ServeOptions, ctx: Context): Promise<void> {
  const { host } = options;
  if (host === undefined || /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host)) return;
  await ctx.warn(`${host} can be reached from other machines; whoever has the key can run commands on this one`);
}
