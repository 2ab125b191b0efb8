import { AppError } from '../../base/errors.ts';
import type { Model } from '../../domain/settings.ts';
import * as service from '../../service/index.ts';
import type { ServeFlags } from '../../service/index.ts';

export type { ServeFlags };

interface ServeOptions extends ServeFlags {
  onReady?: (service: { url: string; pid: number; data_dir: string }) => Promise<void>;
  signal?: AbortSignal;
}

export type LocalServiceStatus = Awaited<ReturnType<LocalService['status']>>;

interface Wiring {
  root: string;
  version: string;
  env: NodeJS.ProcessEnv;
  platform: string;
  home: string;
  log: (line: string) => void;
}

export class LocalService {
  private readonly wiring: Wiring;
  private readonly dataDir: string;

  constructor(wiring: Wiring) {
    this.wiring = wiring;
    this.dataDir = service.defaultDataDir(wiring.env, wiring.platform, wiring.home);
  }

  async run({ onReady, signal, ...flags }: ServeOptions): Promise<void> {
    const { dataDir } = this;
    const { log } = this.wiring;
    await translated(async () => {
      this.refuseWindows();
      await service.settledService(dataDir, signal);
      const running = await service.startService({ ...flags, ...this.place, log });
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
    });
  }

  ensure(options: ServeFlags & Pick<ServeOptions, 'signal'>) {
    return translated(async () => {
      this.refuseWindows();
      // An undefined flag would replace one that a service of an older version was started with.
      const flags = Object.entries(options).filter(([, value]) => value !== undefined);
      return await service.ensureLocalService({ ...Object.fromEntries(flags), ...this.place });
    });
  }

  /** Null when none runs; starts nothing. */
  running(): Promise<{ url: string; key: string; pid: number; version: string } | null> {
    return translated(() => {
      const running = service.runningService(this.dataDir);
      return running && { ...running.state, key: running.key };
    });
  }

  /** Where no service runs, everything but the paths is null. */
  status() {
    const { dataDir } = this;
    return translated(async () => {
      const running = service.runningService(dataDir);
      const stopped = {
        running: false,
        url: null,
        pid: null,
        version: null,
        started_at: null,
        data_dir: dataDir,
        log_file: service.dataPaths(dataDir).log,
        conversations_running: null,
        sandboxes_running: null,
        unknown_workspaces: null,
        scenario: null,
        replay: null,
        flags: null,
      };
      if (running === null) return stopped;
      const { state } = running;
      const { url, pid, version, started_at, scenario = null, replay = null } = state;
      const { host, port, api, asked } = state;
      const idleTimeoutMs = asked?.idleTimeoutMs ?? service.DEFAULT_IDLE_TIMEOUT_MS;
      return {
        ...stopped,
        ...(await service.askActivity(running)),
        ...{ running: true, url, pid, version, started_at, scenario, replay },
        flags: { ...asked, host, port, api, idleTimeoutMs, replay: replay ?? undefined },
      };
    });
  }

  /** The number of rules of the scenario. Throws `config` for a file that cannot be used. */
  checkFiles(files: Pick<ServeFlags, 'scenario' | 'replay'>): Promise<number> {
    return translated(() => service.checkFiles(files));
  }

  /** Null: none was running. */
  stop(): Promise<number | null> {
    return translated(async () => (await service.stopService(this.dataDir)).pid);
  }

  /** The endpoint where the agent calls the model of the settings. Null: the URL is not known. */
  async modelEndpoint(llm: { model: string; base_url: string; api_mode?: string | undefined }) {
    return (await import('../../service/base/model-endpoint.ts')).endpointOf(llm);
  }

  /** The URL of Ollama's own interface; null: another endpoint. */
  async ollamaUrl(model: string, baseUrl: string): Promise<string | null> {
    return (await import('../../protocol/ollama.ts')).ollamaUrl(model, baseUrl);
  }

  /** The model with what is known by its name, where its endpoint does not say it. */
  async knownModel(model: Model): Promise<Model> {
    const { knownModel } = await import('../../service/base/known-models.ts');
    const { context = null, prices = [] } = (await knownModel({ model: model.id })) ?? {};
    const [, input = null, output = null] = prices[0] ?? [];
    return {
      ...model,
      context: model.context ?? context,
      input_price: model.input_price ?? input,
      output_price: model.output_price ?? output,
    };
  }

  /** What to set for a model without a URL; null: its URL. */
  async modelHint(model: string): Promise<string | null> {
    return (await import('../../service/base/model-endpoint.ts')).endpointHint(model);
  }

  /** The key of the model in the settings; no answer of the service contains it. */
  modelKey(): Promise<string | null> {
    return translated(() => service.storedModelKey(this.dataDir));
  }

  /** Runs a trial that leaves nothing behind. Throws `config`. */
  tryDataDir(): Promise<void> {
    return translated(() => service.tryDataDir(this.dataDir));
  }

  /** `unavailable`: not installed or not permitted; `failed`: a service would not start. */
  async isolation(signal: AbortSignal) {
    const { tryIsolation } = await import('../../service/isolation/detect.ts');
    return await tryIsolation(this.wiring.env, signal);
  }

  private get place() {
    const { root, version, env } = this.wiring;
    return { root, version, env, dataDir: this.dataDir };
  }

  private refuseWindows(): void {
    if (this.wiring.platform !== 'win32') return;
    const hint = 'run acs in WSL, or use a server elsewhere: acs login <name> --base-url <url>';
    throw new AppError('unsupported', 'the local service does not run on Windows', { hint });
  }
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

async function translated<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { name, code, message, hint } = cause as Error & {
      code?: keyof typeof KINDS;
      hint?: string;
    };
    if (name !== 'ServiceError' || code === undefined) throw cause;
    throw new AppError(KINDS[code], message, { hint, cause });
  }
}
