/** Finds the local service of a data directory, or starts one in the background. */
import { askActivity } from './ask-activity.ts';
import { startDetached, type DetachOptions } from './detach.ts';
import { inDataDir, prepareDataDir } from './data-dir.ts';
import { ServiceError } from './failure.ts';
import { isHeld, takeLock, type HeldLock } from './lock.ts';
import type { ServeFlags } from './service-options.ts';
import { dataPaths } from './paths.ts';
import { selfIdentity } from './process.ts';
import type { ServiceState } from './state-file.ts';
import { runningService } from './status.ts';
import { stopService } from './stop.ts';

export type EnsureOptions = DetachOptions;

/** Where the local service is, and a notice for the user. */
export interface LocalService {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  key: string;
  pid: number;
  port: number;
  version: string;
  /** True when this call has started it. */
  started: boolean;
  /** A sentence for the user: an old version that is still at work. */
  notice: string | null;
}

const START_LOCK_TIMEOUT_MS = 30_000;
const POLL_MS = 25;

/**
 * The running service, or a fresh one: two callers at the same time share one. A service of an older version in the
 * background is replaced by one that is started alike when no conversation runs in it, and is used, and named,
 * otherwise; a newer one is left alone, because an older one may not be able to read its data.
 * @throws ServiceError; the reason of the signal
 */
export async function ensureLocalService(options: EnsureOptions): Promise<LocalService> {
  // Before anything else: a wrong file is an error also when a service runs already.
  await checkFiles(options);
  const running = runningService(options.dataDir);
  if (running !== null && running.state.version === options.version) return found(running);
  prepareDataDir(options.dataDir);
  const lock = await startLock(options);
  try {
    return await underLock(options);
  } finally {
    lock.release();
  }
}

/** Reads the files of a start. @throws ServiceError `scenario` or `replay` */
async function checkFiles({ scenario, replay }: ServeFlags): Promise<void> {
  if (scenario !== undefined) await checkScenario(scenario);
  if (replay !== undefined) await checkReplay(replay);
}

/**
 * Reads the replay of a start.
 * @throws ServiceError `replay`
 */
export async function checkReplay(named: string): Promise<void> {
  const { readReplayFile } = await import('../agents/replay/file.ts');
  readReplayFile(named);
}

/**
 * How many rules a scenario has.
 * @throws ServiceError `scenario`
 */
export async function checkScenario(file: string): Promise<number> {
  const { readScenario } = await import('../faults/scenario.ts');
  return readScenario(file).length;
}

async function underLock(options: EnsureOptions): Promise<LocalService> {
  const running = runningService(options.dataDir);
  if (running !== null) {
    const { state } = running;
    if (state.version === options.version) return found(running);
    if (isNewer(state.version, options.version)) {
      const notice = `the local service (pid ${state.pid}) is of version ${state.version}, newer than this acs (${options.version}); it is used as it is`;
      return { ...found(running), notice };
    }
    const alike = { ...state.asked, ...options };
    const why = await whyKept(running, alike);
    if (why !== null) {
      const notice = `the local service (pid ${state.pid}) is of version ${state.version}, this is ${options.version}: ${why}`;
      return { ...found(running), notice };
    }
    await stopService(options.dataDir, options.signal);
    return await started(alike);
  }
  return await started(options);
}

async function started(options: EnsureOptions): Promise<LocalService> {
  return { ...found(await startDetached(options)), started: true };
}

/** Why a service of an older version is not replaced now; null: it can be. */
async function whyKept(running: RunningPlace, alike: EnsureOptions): Promise<string | null> {
  const { life } = running.state;
  if (life === null) return 'it does not say how it was started; to have it replaced: acs serve --stop';
  if (life === 'foreground') return 'it runs in the foreground and is not replaced; end it and start it again';
  if ((await askActivity(running))?.running === true) {
    return 'it has conversations running and is replaced when they have ended';
  }
  try {
    await checkFiles(alike);
  } catch (error) {
    return `it is not replaced, for ${(error as Error).message}; to end it: acs serve --stop`;
  }
  return null;
}

interface RunningPlace {
  state: ServiceState;
  key: string;
}

function found({ state, key }: RunningPlace): LocalService {
  const { url, pid, port, version } = state;
  return { url, key, pid, port, version, started: false, notice: null };
}

/** By major, minor and patch; what comes behind them (a pre-release) does not count. */
function isNewer(version: string, other: string): boolean {
  const [a, b] = [version, other].map((text) => text.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0));
  for (const place of [0, 1, 2]) {
    const difference = (a?.[place] ?? 0) - (b?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

async function startLock({ dataDir, signal }: EnsureOptions): Promise<HeldLock> {
  for (let waitedMs = 0; waitedMs < START_LOCK_TIMEOUT_MS; waitedMs += POLL_MS) {
    const taken = inDataDir(dataDir, () => takeLock(dataPaths(dataDir).startLock, selfIdentity()));
    if (isHeld(taken)) return taken;
    signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new ServiceError('start-failed', 'another command has been starting the local service for too long');
}
