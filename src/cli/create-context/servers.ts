import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConnectTarget, Context, Platform, Servers } from '../../commands/context.ts';
import type { GlobalOptions } from '../../commands/context.ts';
import { AppError } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import type { ProbeCache } from '../../client/shared/features.ts';
import type { Server } from '../../client/shared/server.ts';
import type { ResolvedTarget, TargetPlan } from '../../local/profiles/resolve.ts';
import type { ProfileStore } from '../../local/profiles/store.ts';
import { configDirectory } from '../../local/config-directory.ts';
import { withoutKeys } from '../../base/text/secret-names.ts';
import type { SecretKeeper } from '../../base/text/redact.ts';
import type { LocalService } from './local-service.ts';

/** Data about the local service is stored under its profile, because its port changes. */
const LOCAL_PROFILE = 'local';

/** A service that ends later was stopped while it was in use, and stays so. */
const RESTART_MS = 10_000;

interface LocatedTarget extends ConnectTarget {
  restart?: () => Promise<unknown>;
}

/** What contexts are made of, and share. */
export interface Parts {
  platform: Platform;
  globals: () => GlobalOptions;
  secrets: SecretKeeper;
  notice: Context['notice'];
}

interface ServerParts extends Parts {
  offTerminal: boolean;
  store: () => Promise<ProfileStore>;
  localService: () => Promise<LocalService>;
  open: { close(): Promise<void> }[];
  localOrigins: Set<string>;
  /** Without a user name or password. */
  urls: Set<string>;
}

export function createServers(
  parts: Pick<ServerParts, keyof Parts | 'offTerminal' | 'store' | 'localService'>,
): Servers & { close(): Promise<void> } {
  const open: ServerParts['open'] = [];
  const shared = { ...parts, open, localOrigins: new Set<string>(), urls: new Set<string>() };
  const close = async () => void (await Promise.allSettled(open.map((server) => server.close())));
  return { ...serversOf(shared), close };
}

function serversOf(parts: ServerParts): Servers {
  const { platform, globals, secrets, localOrigins, urls } = parts;
  const opened = <T extends { close(): Promise<void> }>(server: T): T => {
    parts.open.push(server);
    return server;
  };
  const nameOf = (origin: string): string => (localOrigins.has(origin) ? LOCAL_PROFILE : origin);
  return {
    active: once((use, within) => connectActive(parts, use, within ?? platform.signal)),
    target: once(async () => await fill(parts, await plan(parts), platform.signal)),
    plan: () => plan(parts),
    connect: (target, within) => connect(parts, target, within),
    urls: () => [...urls],
    async deviceFlow(baseUrl) {
      const { openDeviceFlow } = await import('../../client/connect.ts');
      return opened(await openDeviceFlow(requestOptions(parts, { base_url: baseUrl })));
    },
    async modelEndpoint({ baseUrl, api }, key) {
      if (key !== null) secrets.keep(key);
      const { openModelEndpoint } = await import('../../client/connect.ts');
      const options = requestOptions(parts, { base_url: baseUrl });
      return opened(await openModelEndpoint({ ...options, key }, api));
    },
    lastConversation: {
      async get(origin) {
        const id = (await serverCache('last', platform)).get(nameOf(origin));
        return typeof id === 'string' ? id : null;
      },
      set: async (origin, id) => (await serverCache('last', platform)).set(nameOf(origin), id),
    },
    of(flags) {
      const others = { ...globals(), ...flags };
      return serversOf({ ...parts, globals: () => others });
    },
  };
}

async function plan({ globals, platform, offTerminal, store }: ServerParts): Promise<TargetPlan> {
  const { profile, baseUrl, apiKeyFile } = globals();
  const { planTarget } = await import('../../local/profiles/resolve.ts');
  return await planTarget(
    { profile, baseUrl, apiKeyFile, env: platform.env, offTerminal },
    async () => {
      const profiles = await store();
      return { profiles: await profiles.list(), defaultName: await profiles.defaultName() };
    },
  );
}

/** For `local`, only what runs now is looked at. */
async function fill(
  { platform, notice, localService }: ServerParts,
  planned: TargetPlan,
  signal: AbortSignal,
): Promise<ResolvedTarget> {
  const { fillTarget } = await import('../../local/profiles/key.ts');
  const local = async () => (await localService()).running();
  return await fillTarget(planned, { ...keyReaders(platform, notice, signal), local });
}

/** For `local`, starts the local service when none runs. */
async function connectActive(
  parts: ServerParts,
  use: ConnectTarget['use'],
  signal: AbortSignal,
): Promise<Server> {
  const { platform, notice } = parts;
  const planned = await plan(parts);
  for (const line of planned.notices) await notice(line);
  if (planned.local) {
    const address = await localAddress(parts, signal);
    const untilMs = platform.clock.now() + RESTART_MS;
    const restart = async (): Promise<unknown> =>
      platform.clock.now() < untilMs && (await localAddress(parts, platform.signal));
    return await connect(parts, { ...address, local: true, restart }, signal);
  }
  const { base_url, key, key_source, base_url_source } = await fill(parts, planned, signal);
  if (base_url === null) throw new AppError('internal', 'a target without a URL');
  return await connect(
    parts,
    { base_url, key, sources: { base_url_source, key_source }, use },
    signal,
  );
}

async function connect(
  parts: ServerParts,
  target: LocatedTarget,
  within = parts.platform.signal,
): Promise<Server> {
  const { platform, secrets, urls, localOrigins } = parts;
  const { base_url, key, local = false, pid, sources, cache, use, startUp, restart } = target;
  if (key !== null) secrets.keep(key);
  if (URL.canParse(base_url)) {
    const { origin, pathname } = new URL(base_url);
    if (cache !== 'none') urls.add(origin + pathname.replace(/\/+$/, ''));
    if (local) localOrigins.add(origin);
  }
  const isCached = cache !== 'none' && !(local && pid === undefined);
  const { connect: openServer } = await import('../../client/connect.ts');
  const server = await openServer({
    ...requestOptions(parts, target, within),
    key,
    sources,
    use,
    startUp,
    restart,
    cache: isCached ? await probeCache(platform, local, pid ?? key) : undefined,
  });
  parts.open.push(server);
  return within === platform.signal ? server : await server.withSignal(platform.signal);
}

function requestOptions(
  { platform, globals, secrets, notice }: ServerParts,
  { base_url, local = false }: Pick<ConnectTarget, 'base_url' | 'local'>,
  signal = platform.signal,
) {
  const { env, clock } = platform;
  const { mode, requestTimeoutMs, debug } = globals();
  const { ACS_RATE: text } = env;
  const rate = text === undefined ? undefined : Number(text);
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0))
    throw new AppError('config', `ACS_RATE is "${text}", which is not a number above 0`);
  // No caller waits for these lines: they must not delay a request.
  const log = (line: string): void => void notice(line).catch(() => undefined);
  return {
    baseUrl: base_url,
    local,
    env,
    clock,
    mode,
    requestTimeoutMs,
    rate,
    notice: log,
    secrets,
    signal,
    log: debug === 'on' ? log : undefined,
  };
}

/** @param signal ends a key command */
export function keyReaders(
  { cwd, env, io, signal: interruption }: Platform,
  notice: Context['notice'],
  signal = interruption,
) {
  return {
    readFile: (file: string) => readFile(path.resolve(cwd, file)),
    readStdin: () => io.stdin.readAll(),
    runCommand: async (command: string) => {
      const { runKeyCommand } = await import('../../local/profiles/key-command.ts');
      const report = (line: string) => void notice(line).catch(() => undefined);
      const own = withoutKeys(env, command);
      return await runKeyCommand(command, { cwd, env: own, signal, report });
    },
  };
}

async function serverCache(kind: 'probe' | 'last', platform: Platform) {
  const { openServerCache } = await import('../../local/profiles/cache.ts');
  return openServerCache(kind, configDirectory(platform));
}

/** Probed again for another process or key: some servers accept any key over V1. */
async function probeCache(
  platform: Platform,
  local: boolean,
  proof: number | string | null,
): Promise<ProbeCache> {
  const probe = await serverCache('probe', platform);
  const nameOf = (origin: string): string => (local ? LOCAL_PROFILE : origin);
  // Enough to notice another key, not to find it: one key in 65,536 has the same mark.
  const markOf = (origin: string): string =>
    typeof proof === 'string'
      ? createHash('sha256').update(`${origin}\n${proof}`).digest('hex').slice(0, 4)
      : `${origin} ${proof}`;
  return {
    async get(origin) {
      const kept = probe.get(nameOf(origin)) as { mark?: unknown; facts?: unknown } | null;
      return kept?.mark === markOf(origin) ? kept.facts : null;
    },
    set: async (origin, facts) => probe.set(nameOf(origin), { mark: markOf(origin), facts }),
    drop: async (origin) => probe.drop(nameOf(origin)),
  };
}

async function localAddress(
  { localService, globals, notice }: ServerParts,
  signal: AbortSignal,
): Promise<Pick<LocatedTarget, 'base_url' | 'key' | 'pid'>> {
  const service = await localService();
  if (globals().mode === 'dry-run') {
    const running = await service.running();
    if (running) return { base_url: running.url, key: running.key, pid: running.pid };
    throw new AppError(
      'config',
      'the local service does not run, and --dry-run does not start it',
      { hint: 'start it with: acs serve --detach' },
    );
  }
  const { url, key, pid, started, notice: found } = await service.ensure({ signal });
  if (found !== null) await notice(found);
  if (started)
    await notice(
      `started the local service at ${url} (pid ${pid}); stop it with: acs serve --stop`,
    );
  return { base_url: url, key, pid };
}
