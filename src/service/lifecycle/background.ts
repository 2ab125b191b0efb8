import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { inDataDir, prepareDataDir, dataPaths } from './data-dir.ts';
import { ServiceError } from '../base/failure.ts';
import { isHeld, liveOwner, takeLock } from '../../base/lock.ts';
import { isAlive, nodeExecutable, poll, sendSignal } from '../../base/process.ts';
import type { ServeFlags, ServiceOptions } from './service-options.ts';
import { askActivity, runningService, type FoundService } from './state-file.ts';

export interface EnsureOptions extends Omit<ServiceOptions, 'log' | 'life'> {
  signal?: AbortSignal;
}

export interface LocalService {
  url: string;
  key: string;
  pid: number;
  port: number;
  version: string;
  started: boolean;
  notice: string | null;
}

/** The limit of a start and of a stop: a service that stops ends its workers in a few seconds. */
const PROCESS_TIMEOUT_MS = 15_000;
const LONGEST_LOG_BYTES = 5 * 1024 * 1024;
/** Begins the line with the reason why the background process could not start. */
export const FAILURE_MARK = 'acs-service-failure: ';

/** Finds or starts the service, and replaces an idle older one. Throws ServiceError. */
export async function ensureLocalService(options: EnsureOptions): Promise<LocalService> {
  const { dataDir, signal, version } = options;
  // Before anything else: a wrong file is an error also when a service is already running.
  await checkFiles(options);
  const running = runningService(dataDir);
  if (running !== null && running.state.version === version) return found(running);
  prepareDataDir(dataDir);
  const take = () => {
    const taken = inDataDir(dataDir, () => takeLock(dataPaths(dataDir).startLock));
    return isHeld(taken) ? taken : null;
  };
  const lock = await poll(take, 30_000, signal);
  if (lock === null) {
    throw new ServiceError(
      'start-failed',
      'another command has been starting the local service for too long',
    );
  }
  try {
    const now = await settledService(dataDir, signal);
    let asked = options;
    if (now !== null) {
      const { state } = now;
      if (state.version === version) return found(now);
      asked = { ...state.asked, ...options };
      const why = await whyKept(now, asked);
      if (why !== null) {
        const notice =
          `the local service (pid ${state.pid}) has version ${state.version}, this acs has ` +
          `version ${version}: ${why}`;
        return { ...found(now), notice };
      }
      await stopService(dataDir, signal);
    }
    const notice = await notInSandboxes(options.env);
    return { ...found(await startDetached(asked)), started: true, notice };
  } finally {
    lock.release();
  }
}

async function notInSandboxes(env: EnsureOptions['env']): Promise<string | null> {
  const { networkVariables } = await import('../isolation/tools.ts');
  const { leftOut } = networkVariables(env, () => true);
  return leftOut.length === 0 ? null : `sandboxes do not have ${leftOut.join(', ')}`;
}

/** Waits for a service that ends, or has not begun to listen. Null: none runs. */
export async function settledService(
  dataDir: string,
  signal?: AbortSignal,
): Promise<FoundService | null> {
  const { lock } = dataPaths(dataDir);
  const check = () => runningService(dataDir) ?? (liveOwner(lock) === null ? 'none' : null);
  const found = await poll(check, 2 * PROCESS_TIMEOUT_MS, signal);
  return found === 'none' ? null : found;
}

/** The number of rules. Throws ServiceError `scenario` or `replay` for an unusable file. */
export async function checkFiles({
  scenario,
  replay,
}: Pick<ServeFlags, 'scenario' | 'replay'>): Promise<number> {
  const rules =
    scenario === undefined ? [] : (await import('../faults/schema.ts')).readScenario(scenario);
  if (replay !== undefined) (await import('../agents/replay/file.ts')).readReplayFile(replay);
  return rules.length;
}

async function whyKept(running: FoundService, asked: EnsureOptions): Promise<string | null> {
  const { version, life } = running.state;
  if (version.localeCompare(asked.version, 'en', { numeric: true }) > 0)
    return 'a newer service is used as it is';
  if (life === null) return 'it does not say how it was started; to replace it: acs serve --stop';
  if (life === 'foreground')
    return 'a service in the foreground is not replaced; stop it and start it again';
  if ((await askActivity(running))?.running === true)
    return 'it is replaced when no conversation is running';
  try {
    await checkFiles(asked);
    return null;
  } catch (error) {
    return `it is not replaced: ${(error as Error).message}; to stop it: acs serve --stop`;
  }
}

function found({ state, key }: FoundService): LocalService {
  const { url, pid, port, version } = state;
  return { url, key, pid, port, version, started: false, notice: null };
}

/** Kills a process that does not listen in time. Throws ServiceError; the reason of the signal. */
async function startDetached({ env, signal, ...config }: EnsureOptions): Promise<FoundService> {
  const { dataDir, root } = config;
  const { log } = dataPaths(dataDir);
  const descriptor = inDataDir(dataDir, () => {
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > LONGEST_LOG_BYTES)
      renameSync(log, `${log}.old`);
    return openSync(log, 'a', 0o600);
  });
  const from = statSync(log).size;
  const child = spawn(
    nodeExecutable(),
    [path.join(root, 'dist', 'service.js'), JSON.stringify(config)],
    {
      cwd: dataDir, // not the caller's: that folder may be unmounted or deleted
      detached: true,
      env: { ...env },
      stdio: ['ignore', descriptor, descriptor],
    },
  );
  closeSync(descriptor);
  let end: string | null = null;
  child.on('error', (error) => {
    end = error.message;
  });
  child.on('exit', (code, signal) => {
    end ??=
      signal === null
        ? `it ended with exit code ${code ?? 'unknown'}`
        : `it ended by signal ${signal}`;
  });
  let started: FoundService | null = null;
  try {
    const check = () => {
      const running = runningService(dataDir);
      if (running?.state.pid === child.pid) return running;
      if (end !== null) throw failureOf(log, from, end);
      return null;
    };
    started = await poll(check, PROCESS_TIMEOUT_MS, signal);
  } finally {
    if (started === null) child.kill('SIGKILL');
    child.unref();
  }
  if (started !== null) return started;
  throw new ServiceError('start-failed', 'the local service did not start in time', {
    hint: `See ${log}.`,
  });
}

function failureOf(log: string, from: number, text: string): ServiceError {
  const written = readFileSync(log).subarray(from).toString('utf8');
  const [, reason] = written.split(FAILURE_MARK);
  if (reason === undefined) {
    return new ServiceError('start-failed', `the local service did not start: ${text}`, {
      hint: `See ${log}.`,
    });
  }
  const { code, message, ...options } = JSON.parse(reason.split('\n')[0] ?? '') as ServiceError;
  return new ServiceError(code, message, options);
}

/** Kills a service that does not end. Throws ServiceError `stop-failed`, or the reason. */
export async function stopService(
  dataDir: string,
  signal?: AbortSignal,
): Promise<{ stopped: boolean; pid: number | null }> {
  // The lock decides: the state file exists only while the service listens, and may be damaged.
  const owner = liveOwner(dataPaths(dataDir).lock);
  if (owner === null) return { stopped: false, pid: null };
  const { pid } = owner;
  for (const each of ['SIGTERM', 'SIGKILL'] as const) {
    if (!sendSignal(pid, each) && isAlive(owner)) {
      throw new ServiceError(
        'stop-failed',
        `the local service (pid ${pid}) belongs to another user`,
      );
    }
    if ((await poll(() => (isAlive(owner) ? null : true), PROCESS_TIMEOUT_MS, signal)) === true)
      return { stopped: true, pid };
  }
  throw new ServiceError('stop-failed', `the local service (pid ${pid}) does not end`);
}
