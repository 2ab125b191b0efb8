import type { SandboxSpecName } from '../sandboxes/worker-protocol.ts';
import { readKey } from './key.ts';
import { DEFAULT_IDLE_TIMEOUT_MS } from './service-options.ts';
import { dataPaths } from './paths.ts';
import { readRunning, type ServiceState } from './state-file.ts';

/** The status of the local service of a data directory, from its files. Sends no request and starts nothing. */
export type ServiceStatus =
  | { running: false; data_dir: string; log: string }
  | (Omit<ServiceState, 'process_start' | 'asked'> & {
      running: true;
      data_dir: string;
      log: string;
      idle_timeout_ms: number;
      /** The default spec that was named; null: none. */
      spec: SandboxSpecName | null;
    });

/** Whether a service runs on this data directory, and where. */
export function serviceStatus(dataDir: string): ServiceStatus {
  const paths = dataPaths(dataDir);
  const state = readRunning(paths);
  if (state === null) return { running: false, data_dir: dataDir, log: paths.log };
  const { process_start: _start, asked, ...shown } = state;
  const idleTimeoutMs = asked.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  return {
    running: true,
    data_dir: dataDir,
    log: paths.log,
    idle_timeout_ms: idleTimeoutMs,
    spec: asked.spec ?? null,
    ...shown,
  };
}

/** Address and key of the service that runs; null when none does. */
export function runningService(dataDir: string): { state: ServiceState; key: string } | null {
  const paths = dataPaths(dataDir);
  const state = readRunning(paths);
  const key = readKey(paths.key);
  return state === null || key === null ? null : { state, key };
}
