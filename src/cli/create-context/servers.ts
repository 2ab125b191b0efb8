import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConnectTarget, Context, Platform } from '../../commands/context.ts';
import { AppError } from '../../base/errors.ts';
import type { DeviceFlow } from '../../client/device-flow.ts';
import type { ModelEndpoint } from '../../client/model-endpoint.ts';
import type { ProbeCache } from '../../client/shared/features.ts';
import type { Server } from '../../client/shared/server.ts';
import type { ServerCache } from '../../local/profiles/cache.ts';
import type { NewKey, ResolvedTarget, TargetPlan } from '../../local/profiles/resolve.ts';
import { withoutKeys } from '../../base/text/secret-names.ts';
import type { SecretKeeper } from '../../base/text/redact.ts';

/** Data about the local service is stored under its profile, because its port changes. */
const LOCAL_PROFILE = 'local';

/** A service that ends later was stopped while it was in use, and stays so. */
const RESTART_MS = 10_000;

interface LocatedTarget extends ConnectTarget {
  local: boolean;
  restart?: () => Promise<unknown>;
  /**
   * The process id of the server, where known: another process on the same port may serve another
   * dialect.
   */
  pid?: number;
}

export class Servers {
  readonly #platform: Platform;
  readonly #context: Context;
  readonly #secrets: SecretKeeper;
  readonly #open: { close(): Promise<void> }[] = [];
  readonly #localOrigins = new Set<string>();
  readonly #urls = new Set<string>();

  constructor(platform: Platform, context: Context, secrets: SecretKeeper) {
    this.#platform = platform;
    this.#context = context;
    this.#secrets = secrets;
  }

  async plan(): Promise<TargetPlan> {
    const { globals, offTerminal } = this.#context;
    const { profile, baseUrl, apiKeyFile } = globals;
    const { planTarget } = await import('../../local/profiles/resolve.ts');
    return await planTarget(
      { profile, baseUrl, apiKeyFile, env: this.#platform.env, offTerminal },
      async () => {
        const store = await this.#context.profiles();
        return { profiles: await store.list(), defaultName: await store.defaultName() };
      },
    );
  }

  /** For `local`, only what runs now is looked at. */
  async fill(plan: TargetPlan, signal = this.#platform.signal): Promise<ResolvedTarget> {
    const { fillTarget } = await import('../../local/profiles/key.ts');
    const local = async () => (await this.#context.localService()).running();
    return await fillTarget(plan, { ...this.#readers(signal), local });
  }

  async readKey(from: NewKey): Promise<string | null> {
    const { fetchKey } = await import('../../local/profiles/key.ts');
    return (await fetchKey(from, this.#readers(this.#platform.signal)))?.value ?? null;
  }

  /**
   * For `local`, starts the local service when none runs. `within` ends that, the key command and
   * the probe.
   */
  async active(within?: AbortSignal, use?: ConnectTarget['use']): Promise<Server> {
    const plan = await this.plan();
    for (const notice of plan.notices) await this.#context.notice(notice);
    const signal = within ?? this.#platform.signal;
    if (plan.local) {
      const address = await this.#localAddress(signal);
      const untilMs = this.#platform.clock.now() + RESTART_MS;
      const restart = async (): Promise<unknown> =>
        this.#platform.clock.now() < untilMs && (await this.#localAddress(this.#platform.signal));
      return await this.connect({ ...address, local: true, restart }, within);
    }
    const { base_url, key, key_source, base_url_source } = await this.fill(plan, signal);
    if (base_url === null) throw new AppError('internal', 'a target without a URL');
    const sources = { base_url_source, key_source };
    return await this.connect({ base_url, key, local: false, sources, use }, within);
  }

  async connect(target: LocatedTarget, within?: AbortSignal): Promise<Server> {
    const { base_url, key, local, pid, sources, cache, use, restart } = target;
    if (key !== null) this.#secrets.keep(key);
    if (URL.canParse(base_url)) {
      const { origin, pathname } = new URL(base_url);
      if (cache !== 'none') this.#urls.add(origin + pathname.replace(/\/+$/, ''));
      if (local) this.#localOrigins.add(origin);
    }
    const { connect } = await import('../../client/connect.ts');
    const server = await connect({
      ...this.#options(base_url, local, within),
      key,
      sources,
      use,
      restart,
      cache:
        cache === 'none' || (local && pid === undefined)
          ? undefined
          : await this.#probeCache(local, pid ?? key),
    });
    this.#open.push(server);
    return within === undefined ? server : await server.withSignal(this.#platform.signal);
  }

  async deviceFlow(baseUrl: string): Promise<DeviceFlow> {
    const { openDeviceFlow } = await import('../../client/connect.ts');
    const flow = await openDeviceFlow(this.#options(baseUrl, false));
    this.#open.push(flow);
    return flow;
  }

  async modelEndpoint(baseUrl: string, key: string | null): Promise<ModelEndpoint> {
    if (key !== null) this.#secrets.keep(key);
    const { openModelEndpoint } = await import('../../client/connect.ts');
    const endpoint = await openModelEndpoint({ ...this.#options(baseUrl, false), key });
    this.#open.push(endpoint);
    return endpoint;
  }

  /**
   * Also of servers that failed to open, and not of those that were only tried; without a user name
   * or password.
   */
  urls(): readonly string[] {
    return [...this.#urls];
  }

  lastConversation(): Context['lastConversation'] {
    const name = (origin: string): string =>
      this.#localOrigins.has(origin) ? LOCAL_PROFILE : origin;
    return {
      get: async (origin) => (await this.#serverCache()).last.get(name(origin)),
      set: async (origin, id) => (await this.#serverCache()).last.set(name(origin), id),
    };
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#open.map((server) => server.close()));
  }

  #options(baseUrl: string, local: boolean, within?: AbortSignal) {
    const { env, clock, signal } = this.#platform;
    const { mode, requestTimeoutMs, debug } = this.#context.globals;
    const { ACS_RATE: text } = env;
    const rate = text === undefined ? undefined : Number(text);
    if (rate !== undefined && !(Number.isFinite(rate) && rate > 0))
      throw new AppError('config', `ACS_RATE is "${text}", which is not a number above 0`);
    // No caller waits for these lines: they must not delay a request.
    const notice = (line: string): void => void this.#context.notice(line).catch(() => undefined);
    return {
      baseUrl,
      local,
      env,
      clock,
      mode,
      requestTimeoutMs,
      rate,
      notice,
      secrets: this.#secrets,
      signal: within ?? signal,
      log: debug === 'on' ? notice : undefined,
    };
  }

  #readers(signal: AbortSignal) {
    const { cwd, env, io } = this.#platform;
    return {
      readFile: (file: string) => readFile(path.resolve(cwd, file)),
      readStdin: () => io.stdin.readAll(),
      runCommand: async (command: string) => {
        const { runKeyCommand } = await import('../../local/profiles/key-command.ts');
        const report = (line: string) => void this.#context.notice(line).catch(() => undefined);
        return await runKeyCommand(command, {
          cwd,
          env: withoutKeys(env, command),
          signal,
          report,
        });
      },
    };
  }

  async #serverCache(): Promise<ServerCache> {
    const { openServerCache } = await import('../../local/profiles/cache.ts');
    return openServerCache({ configDir: configDirectory(this.#platform) });
  }

  /**
   * Another process of the local service is probed again, and another key: some servers accept any
   * key over V1.
   */
  async #probeCache(local: boolean, proof: number | string | null): Promise<ProbeCache> {
    const { probe } = await this.#serverCache();
    const nameOf = (origin: string): string => (local ? LOCAL_PROFILE : origin);
    // Enough to notice another key, and too little to find the key by trying: one key in 65,536 has
    // the same mark.
    const markOf = (origin: string): string =>
      typeof proof === 'string'
        ? createHash('sha256').update(`${origin}\n${proof}`).digest('hex').slice(0, 4)
        : `${origin} ${proof}`;
    return {
      async get(origin) {
        const kept = (await probe.get(nameOf(origin))) as {
          mark?: unknown;
          facts?: unknown;
        } | null;
        return kept?.mark === markOf(origin) ? kept.facts : null;
      },
      set: (origin, facts) => probe.set(nameOf(origin), { mark: markOf(origin), facts }),
      drop: (origin) => probe.drop(nameOf(origin)),
    };
  }

  async #localAddress(
    signal: AbortSignal,
  ): Promise<Pick<LocatedTarget, 'base_url' | 'key' | 'pid'>> {
    const service = await this.#context.localService();
    if (this.#context.globals.mode === 'dry-run') {
      const running = await service.running();
      if (running) return { base_url: running.url, key: running.key, pid: running.pid };
      throw new AppError(
        'config',
        'the local service does not run, and --dry-run does not start it',
        {
          hint: 'start it with: acs serve --detach',
        },
      );
    }
    const { url, key, pid, started, notice } = await service.ensure({ signal });
    if (notice !== null) await this.#context.notice(notice);
    if (started === 'now') {
      const text = `started the local service at ${url} (pid ${pid}); stop it with: acs serve --stop`;
      await this.#context.notice(text);
    }
    return { base_url: url, key, pid };
  }
}

/**
 * Repeats the paths of conf for a project `acs` without a suffix, because loading conf takes 67 ms.
 */
export function configDirectory({
  env,
  platform,
  home,
}: Pick<Platform, 'env' | 'platform' | 'home'>): string {
  if (env.ACS_CONFIG_DIR) return path.resolve(env.ACS_CONFIG_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Preferences', 'acs');
  if (platform === 'win32')
    return path.join(env.APPDATA || path.join(home, 'AppData', 'Roaming'), 'acs', 'Config');
  // The XDG specification requires that a relative path is ignored.
  const configHome = env.XDG_CONFIG_HOME;
  return path.join(
    configHome && path.isAbsolute(configHome) ? configHome : path.join(home, '.config'),
    'acs',
  );
}
