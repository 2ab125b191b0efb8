import { AppError } from '../../base/errors.ts';

export interface ServeFlags {
  host?: string | undefined;
  /** 0: any free port. */
  port?: number | undefined;
  api?: 'v0' | 'v1' | 'both' | undefined;
  /** Default: bubblewrap where it works, else process. */
  spec?: 'bubblewrap' | 'bubblewrap-offline' | 'process' | undefined;
  /** Bytes of private memory of one process in a sandbox; 0: no limit. */
  sandboxMemory?: number | undefined;
  /** Processes of one sandbox; 0: no limit. */
  sandboxProcesses?: number | undefined;
  /** Ends after this long with no conversation running and no client; 0 = never. */
  idleTimeoutMs?: number | undefined;
  /** Absolute path. */
  scenario?: string | undefined;
  /** `demo` or an absolute path. */
  replay?: string | undefined;
}

interface ServeOptions extends ServeFlags {
  onReady?: (service: { url: string; pid: number; data_dir: string }) => Promise<void>;
  signal?: AbortSignal;
}

/** Where no service runs, everything but the paths is null. */
export interface LocalServiceStatus {
  running: boolean;
  url: string | null;
  pid: number | null;
  version: string | null;
  started_at: string | null;
  data_dir: string;
  log_file: string;
  conversations_running: number | null;
  sandboxes_running: number | null;
  /** Workspaces of sandboxes that its store does not have: kept, for the user to look at. */
  unknown_workspaces: string[] | null;
  /** Null: no faults are injected. */
  scenario: string | null;
  /** `demo` or a path; null: nothing. */
  replay: string | null;
  flags: ServeFlags | null;
}

export type LocalService = Awaited<ReturnType<typeof createLocalService>>;

export async function createLocalService(wiring: {
  root: string;
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  home: string;
  log: (line: string) => void;
}) {
  const service = await import('../../service/index.ts');
  const { root, version, env, platform, home, log } = wiring;
  const dataDir = service.defaultDataDir(env, platform, home);
  const common = { root, version, env, dataDir };
  return {
    run: ({ onReady, signal, ...flags }: ServeOptions): Promise<void> =>
      translated(async () => {
        refuseWindows(platform);
        await service.settledService(dataDir, signal);
        const running = await service.startService({ ...flags, ...common, log });
        const stop = () => void running.close('on request');
        signal?.addEventListener('abort', stop, { once: true });
        try {
          if (signal?.aborted) stop();
          const { pid } = service.runningService(dataDir)?.state ?? { pid: 0 };
          await onReady?.({ url: running.url, pid, data_dir: dataDir });
          await running.ended;
        } finally {
          signal?.removeEventListener('abort', stop);
          await running.close('the command ended');
        }
      }),
    ensure: (options: ServeFlags & Pick<ServeOptions, 'signal'>) =>
      translated(async () => {
        refuseWindows(platform);
        // A flag that is not given must not replace one that a service of an older version was
        // started with.
        const given = Object.entries(options).filter(([, value]) => value !== undefined);
        const found = await service.ensureLocalService({ ...Object.fromEntries(given), ...common });
        return { ...found, started: found.started ? ('now' as const) : ('before' as const) };
      }),
    /** Null when none runs; starts nothing. */
    running: (): Promise<{ url: string; key: string; pid: number; version: string } | null> =>
      translated(() => {
        const running = service.runningService(dataDir);
        if (running === null) return Promise.resolve(null);
        const { url, pid, version } = running.state;
        return Promise.resolve({ url, key: running.key, pid, version });
      }),
    status: () =>
      translated(async (): Promise<LocalServiceStatus> => {
        const running = service.runningService(dataDir);
        const activity = running && (await service.askActivity(running));
        const { url, pid, version, started_at, scenario, replay, host, port, api, asked } =
          running?.state ?? {};
        const idleTimeoutMs = asked?.idleTimeoutMs ?? service.DEFAULT_IDLE_TIMEOUT_MS;
        return {
          running: running !== null,
          url: url ?? null,
          pid: pid ?? null,
          version: version ?? null,
          started_at: started_at ?? null,
          data_dir: dataDir,
          log_file: service.dataPaths(dataDir).log,
          conversations_running: activity?.conversations_running ?? null,
          sandboxes_running: activity?.sandboxes_running ?? null,
          unknown_workspaces: activity?.unknown_workspaces ?? null,
          scenario: scenario ?? null,
          replay: replay ?? null,
          flags: running && {
            ...asked,
            host,
            port,
            api,
            idleTimeoutMs,
            replay: replay ?? undefined,
          },
        };
      }),
    /** The number of rules of the scenario. Throws `config` for a file that cannot be used. */
    checkFiles: (files: Pick<ServeFlags, 'scenario' | 'replay'>): Promise<number> =>
      translated(() => service.checkFiles(files)),
    /** Null: none was running. */
    stop: (): Promise<number | null> =>
      translated(async () => (await service.stopService(dataDir)).pid),
    /**
     * The URL and the name with which the agent calls the model of the settings. Null: its URL is
     * not known.
     */
    modelEndpoint: async (llm: { model: string; base_url: string }) =>
      (await import('../../service/base/model-config.ts')).endpointOf(llm),
    /** The key of the model in the settings; no answer of the service contains it. */
    modelKey: (): Promise<string | null> => translated(() => service.storedModelKey(dataDir)),
    /** By a trial that leaves nothing behind. Throws `config`. */
    tryDataDir: (): Promise<void> => translated(() => Promise.resolve(service.tryDataDir(dataDir))),
    /**
     * By a trial. `unavailable`: not installed or not permitted; `failed`: a service would not
     * start.
     */
    isolation: async (signal: AbortSignal) =>
      await (await import('../../service/isolation/detect.ts')).tryIsolation(env, signal),
  };
}

/** The isolation and the process groups that it stands on do not exist there. */
function refuseWindows(platform: string): void {
  if (platform !== 'win32') return;
  const hint = 'run acs in WSL, or use a server elsewhere: acs login <name> --base-url <url>';
  throw new AppError('unsupported', 'the local service does not run on Windows', { hint });
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

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { name, code, message, hint } = error as Error & {
      code?: keyof typeof KINDS;
      hint?: string;
    };
    if (name !== 'ServiceError' || code === undefined) throw error;
    throw new AppError(KINDS[code], message, {
      ...(hint === undefined ? {} : { hint }),
      cause: error,
    });
  }
}
