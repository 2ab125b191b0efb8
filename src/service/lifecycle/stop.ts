import { ServiceError } from './failure.ts';
import { dataPaths } from './paths.ts';
import { isAlive, sendSignal } from './process.ts';
import { liveOwner } from './state-file.ts';

/** `stopped: false`: none was running. */
export interface StopResult {
  stopped: boolean;
  pid: number | null;
}

/** The service needs a few seconds at most to end its workers; what is left after that is killed. */
const STOP_TIMEOUT_MS = 15_000;
const KILL_TIMEOUT_MS = 5_000;

/**
 * Ends the service of a data directory and waits until it is gone. A service that does not end in time is killed; its
 * workers then see the end of their input and kill what runs inside.
 * @param signal ends the wait; the service ends nevertheless
 * @throws ServiceError `stop-failed`; the reason of the signal
 */
export async function stopService(dataDir: string, signal?: AbortSignal): Promise<StopResult> {
  // By the lock: the state file is there only while it listens, and may have been damaged.
  const owner = liveOwner(dataPaths(dataDir).lock);
  if (owner === null) return { stopped: false, pid: null };
  const { pid } = owner;
  const isSent = sendSignal(pid, 'SIGTERM');
  if (!isSent && isAlive(owner)) {
    throw new ServiceError('stop-failed', `the local service (pid ${pid}) belongs to another user`);
  }
  if (await isGone(() => isAlive(owner), STOP_TIMEOUT_MS, signal)) return { stopped: true, pid };
  sendSignal(pid, 'SIGKILL');
  if (await isGone(() => isAlive(owner), KILL_TIMEOUT_MS, signal)) return { stopped: true, pid };
  throw new ServiceError('stop-failed', `the local service (pid ${pid}) does not end`);
}

/** Polls until a process is gone; the system reports its end to its parent only. */
export async function isGone(lives: () => boolean, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
  const pauseMs = 20;
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += pauseMs) {
    if (!lives()) return true;
    signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return !lives();
}
