/** Connects the port of the local service (service-control.ts) to the service itself (service/). */
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import type { LocalService, LocalServiceStatus, ServeOptions } from '../service-control.ts';

import { findOld } from './prune.ts';

type Service = typeof import('../service/index.ts');

export interface LocalServiceWiring {
  root: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  home: string;
  clock: Clock;
  connect(target: { base_url: string; key: string }): Promise<Server>;
  /** Takes the log lines of a service in the foreground. */
  log: (line: string) => void;
}

export async function createLocalService(wiring: LocalServiceWiring): Promise<LocalService> {
  const service: Service = await import('../service/index.ts');
  const dataDirOf = (options: { dataDir?: string } = {}) =>
    options.dataDir ?? service.defaultDataDir(wiring.env, wiring.platform, wiring.home);
  const common = { root: wiring.root, version: wiring.version, env: wiring.env };
  const local: LocalService = {
    run: (options) =>
      translated(
        () =>
          refuseWindows(wiring.platform) ??
          runInForeground(service, { ...common, dataDir: dataDirOf(options) }, wiring, options),
      ),
    ensure: (options) =>
      translated(async () => {
        await refuseWindows(wiring.platform);
        const { url, key, pid, started, notice } = await service.ensureLocalService({
          ...common,
          ...serviceOptions(options),
          ...(options.signal === undefined ? {} : { signal: options.signal }),
          dataDir: dataDirOf(options),
        });
        return { url, key, pid, started: started ? 'now' : 'before', notice };
      }),
    running: () =>
      translated(() => {
        const running = service.runningService(dataDirOf());
        return Promise.resolve(running && { url: running.state.url, key: running.key, pid: running.state.pid });
      }),
    status: (dataDir) => translated(() => statusOf(service, dataDirOf({ dataDir }))),
    checkReplay: (named) => translated(() => service.checkReplay(named)),
    checkScenario: (file) => translated(() => service.checkScenario(file)),
    stop: (dataDir) =>
      translated(async () => {
        const { stopped, pid } = await service.stopService(dataDirOf({ dataDir }));
        return { stopped: stopped ? 'now' : 'was-not-running', pid };
      }),
    isolation: (signal) => service.tryIsolation(wiring.env, signal),
    logFile: (dataDir) => Promise.resolve(service.logFile(dataDirOf({ dataDir }))),
    old: async (retentionMs, dataDir) => {
      const { url, key, pid, started } = await local.ensure({ dataDir });
      const server = await wiring.connect({ base_url: url, key });
      return { ...(await findOld(server, wiring.clock.now() - retentionMs)), pid, started };
    },
  };
  return local;
}

/** The isolation and the process groups it stands on are not to be had there. */
function refuseWindows(platform: string): Promise<never> | null {
  if (platform !== 'win32') return null;
  const hint = 'run acs in WSL, or use a server elsewhere: acs profile add <name> --base-url <url>';
  return Promise.reject(new AppError('unsupported', 'the local service does not run on Windows', { hint }));
}

function serviceOptions(options: ServeOptions) {
  return {
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.api === undefined ? {} : { api: options.api }),
    ...(options.spec === undefined ? {} : { spec: options.spec }),
    ...(options.scenario === undefined ? {} : { scenario: options.scenario }),
    ...(options.replay === undefined ? {} : { replay: options.replay }),
    ...(options.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: options.idleTimeoutMs }),
  };
}

async function runInForeground(
  service: Service,
  base: { dataDir: string; root: string; version: string; env: Readonly<Record<string, string | undefined>> },
  wiring: LocalServiceWiring,
  options: ServeOptions,
): Promise<void> {
  const running = await service.startService({ ...base, ...serviceOptions(options), log: wiring.log });
  const stop = () => void running.close('it was asked to stop');
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    if (options.signal?.aborted) stop();
    const { pid } = service.runningService(base.dataDir)?.state ?? { pid: 0 };
    await options.onReady?.({ url: running.url, pid, data_dir: base.dataDir });
    await running.ended;
  } finally {
    options.signal?.removeEventListener('abort', stop);
    await running.close('it ended');
  }
}

async function statusOf(service: Service, dataDir: string): Promise<LocalServiceStatus> {
  const status = service.serviceStatus(dataDir);
  const unknown = { conversations_running: null, sandboxes_running: null, scenario: null, replay: null };
  const base = { data_dir: dataDir, ...unknown };
  if (!status.running) return { running: false, url: null, pid: null, version: null, started_at: null, ...base };
  const { url, pid, version, started_at, scenario, replay } = status;
  const { host, port, api, spec, idle_timeout_ms: idleTimeoutMs } = status;
  const running = service.runningService(dataDir);
  const activity = running && (await service.askActivity(running));
  return {
    running: true,
    url,
    pid,
    version,
    started_at,
    ...base,
    conversations_running: activity?.conversations_running ?? null,
    sandboxes_running: activity?.sandboxes_running ?? null,
    scenario: scenario ?? null, // a service of an older version says nothing of it
    replay,
    flags: { host, port, api, spec, idleTimeoutMs, replay },
  };
}

const KINDS = {
  'data-dir': 'config',
  locked: 'conflict',
  listen: 'config',
  'start-failed': 'config',
  'stop-failed': 'conflict',
  scenario: 'config',
  isolation: 'config',
  replay: 'config',
  unsupported: 'unsupported',
} as const;

/** The service has its own errors, without exit codes. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { name, code, message, hint } = error as {
      name?: string;
      code?: keyof typeof KINDS;
      message: string;
      hint?: string;
    };
    if (name !== 'ServiceError' || code === undefined) throw error;
    throw new AppError(KINDS[code], message, { ...(hint === undefined ? {} : { hint }), cause: error });
  }
}
