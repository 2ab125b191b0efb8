import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { RecordShape, View } from '../output/view.ts';
import type {
  LocalServiceStatus,
  LocalService,
  ServeFlags as ServiceFlags,
} from '../cli/create-context/local-service.ts';
import type { Context } from './context.ts';
import { AppError } from '../base/errors.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import { formatDuration } from '../base/text/time.ts';
import { explain } from './shared/declare.ts';
import { printWouldDo } from './shared/bulk.ts';
import { unreadable } from './shared/files.ts';
import { duration, invalidValue, oneOf, wholeNumber } from './shared/option-parsers.ts';

const pidText = ({ pid }: { pid: number | null }): string => (pid === null ? '' : String(pid));

export const statusView: View<LocalServiceStatus> = {
  noun: 'service status',
  id: pidText,
  fields: [
    { name: 'running' },
    { name: 'url', weight: 0 },
    { name: 'pid' },
    { name: 'version' },
    { name: 'started_at', as: 'time' },
    { name: 'data_dir' },
    { name: 'conversations_running' },
    { name: 'sandboxes_running' },
    { name: 'scenario' },
    { name: 'replay' },
    { name: 'unknown_workspaces', as: 'json', json: { list: true } },
  ],
  table: ['running', 'url', 'pid', 'version', 'started_at'],
};

export const startedView: View<{ url: string; pid: number; data_dir: string }> = {
  noun: 'started service',
  id: pidText,
  fields: [{ name: 'url', weight: 0 }, { name: 'pid' }, { name: 'data_dir' }],
};

export const readyShape: RecordShape = {
  noun: 'ready service',
  fields: [{ name: 'type' }, ...startedView.fields],
};

export const stoppedView: View<{ pid: number | null; data_dir: string }> = {
  noun: 'stopped service',
  id: pidText,
  fields: [{ name: 'pid' }, { name: 'data_dir' }],
};

const APIS = ['v0', 'v1', 'both'] as const;
const SPECS = ['bubblewrap', 'bubblewrap-offline', 'process'] as const;

const DEMO = 'demo';
const MODES = ['detach', 'status', 'stop', 'logs'] as const;
type Mode = 'foreground' | (typeof MODES)[number];

type ServeFlags = Omit<ServiceFlags, 'idleTimeoutMs'> &
  Partial<Record<(typeof MODES)[number], boolean>> & { idleTimeout?: number };

const UNITS = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
const LEAST_MEMORY = 256 * UNITS.M;
/** What runs the programs of a sandbox is about 10, threads included. */
const LEAST_PROCESSES = 64;

/** Bytes. */
function memorySize(value: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([KMGT]?)i?B?$/i.exec(value) ?? [];
  const bytes = Number(digits) * UNITS[unit.toUpperCase() as keyof typeof UNITS];
  if (digits === '' || (bytes !== 0 && bytes < LEAST_MEMORY) || !Number.isSafeInteger(bytes))
    throw invalidValue('It must be a size of at least 256M such as 512M or 8G, or 0 for no limit.');
  return bytes;
}

export function declare(command: Command, ctx: Context): void {
  command
    .option('--detach', 'start it in the background')
    .option('--status', 'show whether it is running')
    .option('--stop', 'stop it and pause its sandboxes')
    .option('--logs', 'print the log of the background service')
    .option('--host <address>', 'listen on this address (default: loopback)')
    .option('--port <n>', 'listen on this port (default: a free port)', (value) => {
      if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
        throw invalidValue('It must be a port: 0 to 65535.');
      return Number(value);
    })
    .option('--api <v0|v1|both>', 'dialects that it serves (default both)', oneOf(...APIS))
    .option('--spec <name>', 'bubblewrap (default), bubblewrap-offline or process', oneOf(...SPECS))
    .option(
      '--sandbox-memory <size>',
      'most memory of a process in a sandbox, as 512M or 8G (default: half; 0: no limit)',
      memorySize,
    )
    .option(
      '--sandbox-processes <n>',
      'processes of a sandbox (default 4096; 0: no limit)',
      (value) => {
        const count = wholeNumber(value);
        if (count !== 0 && count < LEAST_PROCESSES)
          throw invalidValue(`It must be at least ${LEAST_PROCESSES}, or 0 for no limit.`);
        return count;
      },
    )
    .option(
      '--idle-timeout <duration>',
      'stop after this long idle (default 30m; 0s: never)',
      duration,
    )
    .option('--scenario <file>', 'inject the faults that a file describes')
    .option('--replay <file|demo>', 'replay this run where a conversation names none')
    .action(async (flags: ServeFlags) => serve(flags, ctx));
  explain(command, {
    notes: [
      'Without a flag the service runs in the foreground until Ctrl-C. Commands that use ' +
        'the built-in profile `local` start it in the background.',
      '--scenario tests scripts: its file is a JSON list of rules such as ' +
        '{"path":"/api/**","status":503,"times":2}; docs/fault-injection.md lists their ' +
        'members. --replay is for clients that cannot name one; conv new --replay takes ' +
        'precedence.',
    ],
    json: ({ objectForm }) => [
      ['foreground', objectForm(readyShape)],
      ['--detach', objectForm(startedView, 'changed')],
      ['--status', objectForm(statusView)],
      ['--stop', objectForm(stoppedView, 'changed')],
    ],
    exits: ['conflict', 'unsupported', 'interrupted'],
    examples: {
      'acs serve --scenario examples/faults.json': 'inject the faults of the file',
      'acs serve --detach --replay run.json': 'replay run.json in the conversations of any client',
    },
  });
}

async function serve(flags: ServeFlags, ctx: Context): Promise<void> {
  const mode = modeOf(flags);
  const service = await ctx.local.service();
  const ofRunning = OF_RUNNING[mode];
  if (ofRunning !== undefined) return await ofRunning(service, ctx);
  if (mode === 'detach') ctx.out.check(startedView, 'item');
  else ctx.out.check(null, 'stream');
  const { host, port, api, spec, sandboxMemory, sandboxProcesses, idleTimeout } = flags;
  const fileOf = (name: string | undefined) => name && path.resolve(ctx.local.cwd, name);
  const options: ServiceFlags = {
    host,
    port,
    api,
    spec,
    sandboxMemory,
    sandboxProcesses,
    idleTimeoutMs: idleTimeout,
    scenario: fileOf(flags.scenario),
    replay: flags.replay === DEMO ? DEMO : fileOf(flags.replay),
  };
  // Before anything starts.
  const rules = await service.checkFiles(options);
  const running = await runningAlike(options, service);
  if (ctx.globals.mode === 'dry-run') {
    const what =
      running === null
        ? 'would start the local service'
        : `the local service is already running (pid ${running.pid})`;
    return await printWouldDo(ctx, what);
  }
  if (running === null && !isLoopbackHost(host ?? 'localhost'))
    await ctx.warn(
      `other machines can reach ${host}; anyone who has the key can run commands on this machine`,
    );
  if (mode === 'detach') await startInBackground(options, rules, service, ctx);
  else await runHere(options, running, service, ctx);
}

/** Throws `usage` for flags of several modes, and for one that the mode does not have. */
function modeOf({ host, scenario, replay, ...flags }: ServeFlags): Mode {
  const modes = MODES.filter((each) => flags[each] !== undefined);
  const [mode = 'foreground'] = modes;
  if (modes.length > 1) {
    const names = modes.map((each) => `--${each}`).join(', ');
    throw new AppError('usage', `these flags cannot be combined: ${names}`);
  }
  for (const [flag, value] of Object.entries({ host, scenario, replay })) {
    if (value?.trim() === '') throw new AppError('usage', `--${flag} is empty`);
    if (value !== undefined && flag !== 'host' && mode in OF_RUNNING)
      throw new AppError('usage', `--${flag} cannot be combined with --${mode}`);
  }
  return mode;
}

/** @param rules the number of those in the scenario */
async function startInBackground(
  options: ServiceFlags,
  rules: number,
  service: LocalService,
  ctx: Context,
): Promise<void> {
  const { url, pid, started, notice } = await service.ensure(options);
  const { data_dir } = await service.status();
  await ctx.out.item(startedView, { url, pid, data_dir }, { changed: started });
  if (options.scenario !== undefined) {
    const count = `${rules} ${rules === 1 ? 'rule' : 'rules'}`;
    await ctx.notice(
      `fault injection: ${count} of ${options.scenario}; acs serve --logs lists the ` +
        'requests they change',
    );
  }
  if (notice !== null) await ctx.notice(notice);
  else if (!started) await ctx.notice('it was already running');
}

async function runHere(
  options: ServiceFlags,
  running: LocalServiceStatus | null,
  service: LocalService,
  ctx: Context,
): Promise<void> {
  const printReady = async ({
    url,
    pid,
    data_dir,
  }: Pick<LocalServiceStatus, 'url' | 'pid' | 'data_dir'>): Promise<void> => {
    const text = `${url} (pid ${pid}, data in ${data_dir})`;
    await ctx.out.record({ type: 'ready', url, pid, data_dir }, text);
  };
  if (running !== null) {
    await printReady(running);
    return await ctx.notice(`it was already running (version ${running.version})`);
  }
  await service.run({
    ...options,
    signal: ctx.signal,
    onReady: async (ready) => {
      await printReady(ready);
      if (ctx.terminal.interactive) await ctx.notice('press Ctrl-C to stop it');
    },
  });
  ctx.signal.throwIfAborted();
}

/** Null: none runs. Throws `conflict` when a flag differs from what the service runs with. */
async function runningAlike(
  options: ServiceFlags,
  service: LocalService,
): Promise<LocalServiceStatus | null> {
  const status = await service.status();
  const { flags } = status;
  if (flags === null) return null;
  const plain = (host = '') =>
    host
      .trim()
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/^localhost$/, '127.0.0.1');
  const duration = (ms: number | undefined) => (ms === undefined ? undefined : formatDuration(ms));
  const compared = [
    ['--host', options.host, plain(options.host) === plain(flags.host) ? options.host : flags.host],
    ['--port', options.port, options.port === 0 ? 0 : flags.port],
    ['--api', options.api, flags.api],
    ['--spec', options.spec, flags.spec],
    ['--sandbox-memory', options.sandboxMemory, flags.sandboxMemory],
    ['--sandbox-processes', options.sandboxProcesses, flags.sandboxProcesses],
    ['--idle-timeout', duration(options.idleTimeoutMs), duration(flags.idleTimeoutMs)],
    ['--replay', options.replay, flags.replay],
    ['--scenario', options.scenario, status.scenario ?? undefined],
  ] as const;
  const others = compared.flatMap(([flag, requested, actual]) => {
    if (requested === undefined || requested === actual) return [];
    return actual === undefined
      ? `without ${flag} ${requested}`
      : `with ${flag} ${actual} instead of ${requested}`;
  });
  // A script would be tested without faults.
  if (options.scenario !== undefined && options.scenario === status.scenario)
    others.push(`with --scenario ${options.scenario}, whose rules may have been used up`);
  if (others.length === 0) return status;
  throw new AppError(
    'conflict',
    `the local service (pid ${status.pid}) is already running, ${others.join(', ')}`,
    {
      hint: 'stop it first: acs serve --stop; for a second service set ACS_DATA_DIR',
    },
  );
}

/** The modes in which no service is started. */
const OF_RUNNING: Partial<Record<Mode, (service: LocalService, ctx: Context) => Promise<void>>> = {
  async status(service, ctx) {
    ctx.out.check(statusView, 'item');
    await ctx.out.item(statusView, await service.status());
  },
  stop,
  logs: printLogs,
};

async function stop(service: LocalService, ctx: Context): Promise<void> {
  ctx.out.check(stoppedView, 'item');
  const { running, pid, data_dir } = await service.status();
  if (ctx.globals.mode === 'dry-run') {
    const what = running
      ? `would stop the local service (pid ${pid})`
      : 'the local service is not running';
    return await printWouldDo(ctx, what);
  }
  const stopped = await service.stop();
  await ctx.out.item(stoppedView, { pid: stopped, data_dir }, { changed: stopped !== null });
  if (stopped === null) await ctx.notice('the local service was not running');
}

async function printLogs(service: LocalService, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  const { log_file: file } = await service.status();
  try {
    for await (const chunk of createReadStream(file)) await ctx.out.raw(chunk as Uint8Array);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return await ctx.notice(`no log yet: ${file}`);
    throw code === undefined || syscall === undefined ? error : unreadable(file, error);
  }
}
