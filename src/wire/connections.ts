/** Opens servers and keeps them, so that they can be closed at the end of the command. */
import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { ServerCache } from '../profiles/cache.ts';
import { LOCAL_PROFILE } from '../profiles/names.ts';
import type { TargetSources } from '../domain/target-sources.ts';
import type { TargetPlan } from '../profiles/resolve.ts';
import type { DeviceFlow } from '../servers/device-flow.ts';
import type { Server } from '../servers/server.ts';
import type { SecretKeeper } from '../text/secret-keeper.ts';
import type { Platform } from './platform.ts';
import type { Targets } from './targets.ts';

/** A server may be upgraded at any time; an unexpected response evicts the cached probe before this lifetime ends. */
const PROBE_LIFETIME_MS = 24 * 3_600_000;

export interface Connections {
  /**
   * The server of a plan; for `local`, starts the local service when none runs.
   * @param within ends the start, a command that prints the key, and the probe, besides the signal of the run
   */
  of(plan: TargetPlan, within?: AbortSignal): Promise<Server>;
  /** @param within ends the probe, besides the signal of the run */
  to(target: ConnectionTarget, within?: AbortSignal): Promise<Server>;
  /** A sign-in that needs no key yet. */
  deviceFlow(baseUrl: string): Promise<DeviceFlow>;
  /** The URLs of servers that were opened or failed to open. */
  urls(): readonly string[];
  /** The key under which data about a server is stored: the port of the local service may change. */
  memoryKey(origin: string): string;
  close(): Promise<void>;
}

export interface ConnectionTarget {
  base_url: string;
  key: string | null;
  /** True for the built-in profile of the local service. */
  local: boolean;
  /** Named by the error of a refused key. */
  sources?: TargetSources;
  /** `now`: the cached probe is not used, and replaced. */
  probed?: 'now';
  /** The process id of the server, where known: another process on the same port may serve another dialect. */
  pid?: number;
}

export interface ConnectionsWiring {
  platform: Platform;
  context: Context;
  targets: Targets;
  cache: () => Promise<ServerCache>;
  secrets: SecretKeeper;
}

export function createConnections({ platform, context, targets, cache, secrets }: ConnectionsWiring): Connections {
  const open: { close(): Promise<void> }[] = [];
  const localOrigins = new Set<string>();
  const urls = new Set<string>();
  const options = (baseUrl: string, local: boolean, within?: AbortSignal) => ({
    baseUrl,
    local,
    secrets,
    env: platform.env,
    clock: platform.clock,
    signal: within ?? platform.signal,
    mode: context.globals.mode,
    requestTimeoutMs: context.globals.requestTimeoutMs,
    rate: context.globals.rate,
    ...(context.globals.debug === 'on' ? { log: (line: string) => notify(context, line) } : {}),
    notice: (text: string) => notify(context, text),
  });
  const connections: Connections = {
    async of(plan, within) {
      for (const notice of plan.notices) await context.notice(notice);
      const signal = within ?? platform.signal;
      if (plan.local) return await connections.to({ ...(await localAddress(context, signal)), local: true }, within);
      const { base_url, key, key_source, base_url_source } = await targets.fill(plan, signal);
      if (base_url === null) throw new AppError('internal', 'a target without a URL');
      return await connections.to({ base_url, key, local: false, sources: { base_url_source, key_source } }, within);
    },
    async to({ base_url, key, local, pid, sources, probed }, within) {
      if (key !== null) secrets.keep(key);
      if (URL.canParse(base_url)) urls.add(shownBase(new URL(base_url)));
      if (local) localOrigins.add(new URL(base_url).origin);
      const { connect } = await import('../servers/connect.ts');
      const kept = local ? await localProbeCache(cache, pid) : await probeCache(cache, key);
      const opened = await connect({
        ...options(base_url, local, within),
        key,
        ...(sources === undefined ? {} : { sources }),
        cache: probed === 'now' ? { ...kept, get: () => Promise.resolve(null) } : kept,
      });
      open.push(opened);
      return within === undefined ? opened : await opened.withSignal(platform.signal);
    },
    async deviceFlow(base_url) {
      const { openDeviceFlow } = await import('../servers/connect.ts');
      const opened = await openDeviceFlow(options(base_url, false));
      open.push(opened);
      return opened;
    },
    urls: () => [...urls],
    memoryKey: (origin) => (localOrigins.has(origin) ? LOCAL_PROFILE : origin),
    async close() {
      await Promise.allSettled(open.map((server) => server.close()));
    },
  };
  return connections;
}

/** Without a user name or password. */
function shownBase({ origin, pathname }: URL): string {
  return origin + pathname.replace(/\/+$/, '');
}

/** No caller waits for these lines: they must not delay a request. */
function notify(context: Context, text: string): void {
  context.notice(text).catch(() => undefined);
}

/** The probe proves the key too, and some servers take any key at their V1 routes: another key is probed again. */
async function probeCache(cache: () => Promise<ServerCache>, key: string | null) {
  const { probe } = await cache();
  return {
    async get(origin: string) {
      const kept = (await probe.get(origin)) as { key?: unknown; facts?: unknown } | null;
      return kept?.key === keyMark(origin, key) ? kept.facts : null;
    },
    set: (origin: string, facts: unknown) => probe.set(origin, { key: keyMark(origin, key), facts }, PROBE_LIFETIME_MS),
    drop: (origin: string) => probe.drop(origin),
  };
}

/** Enough to notice another key, and too little to find the key by trying: one key in 65,536 has the same mark. */
function keyMark(origin: string, key: string | null): string | null {
  return key === null ? null : createHash('sha256').update(`${origin}\n${key}`).digest('hex').slice(0, 4);
}

/** The facts of one process of the local service are not those of the next. */
async function localProbeCache(cache: () => Promise<ServerCache>, pid: number | undefined) {
  const { probe } = await cache();
  return {
    async get(origin: string) {
      const kept = (await probe.get(LOCAL_PROFILE)) as { origin?: unknown; pid?: unknown; facts?: unknown } | null;
      return pid !== undefined && kept?.origin === origin && kept.pid === pid ? kept.facts : null;
    },
    async set(origin: string, facts: unknown) {
      if (pid !== undefined) await probe.set(LOCAL_PROFILE, { origin, pid, facts }, PROBE_LIFETIME_MS);
    },
    drop: () => probe.drop(LOCAL_PROFILE),
  };
}

async function localAddress(
  context: Context,
  signal: AbortSignal,
): Promise<{ base_url: string; key: string; pid?: number }> {
  const service = await context.localService();
  if (context.globals.mode === 'dry-run') {
    const running = await service.running();
    if (running) return { base_url: running.url, key: running.key, pid: running.pid };
    throw new AppError('config', 'the local service does not run, and --dry-run does not start it', {
      hint: 'start it with: acs serve --detach',
    });
  }
  const { url, key, pid, started, notice } = await service.ensure({ signal });
  if (notice !== null) await context.notice(notice);
  if (started === 'now') {
    await context.notice(`started the local service at ${url} (pid ${pid}); end it with: acs serve --stop`);
  }
  return { base_url: url, key, pid };
}
