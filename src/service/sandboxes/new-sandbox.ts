import { mkdirSync, rmSync } from 'node:fs';
import type { SandboxRow } from '../storage/sandboxes.ts';
import type { SandboxSpecName, WorkerConfig } from './worker-protocol.ts';
import { assertSpecWorks, type SpecChoice } from './specs.ts';
import { newSandboxId, newSessionKey } from '../app/ids.ts';

/** A sandbox that is about to be started, with an id and a key of its own. */
export function newSandbox(spec: SandboxSpecName, now: string, detail: string | null = null): SandboxRow {
  return {
    id: newSandboxId(),
    spec_id: spec,
    isolation: spec,
    status: 'STARTING',
    status_detail: detail,
    session_api_key: newSessionKey(),
    port: null,
    working_dir: null,
    worker_pid: null,
    worker_start: null,
    created_at: now,
    last_active_at: now,
  };
}

/**
 * The requested sandbox. Null: the request names no spec.
 * @throws SpecRefused
 */
export function requestedSandbox(named: SandboxSpecName | null, specs: SpecChoice, now: string): SandboxRow {
  const spec = named ?? specs.byDefault;
  assertSpecWorks(spec, specs);
  return newSandbox(spec, now, named === null ? specs.warning : null);
}

type Surroundings = Omit<WorkerConfig, 'sandbox_id' | 'session_api_key' | 'spec' | 'port'>;

/** The configuration of the worker of a sandbox. */
export function workerConfig(row: SandboxRow, surroundings: Surroundings): WorkerConfig {
  return {
    sandbox_id: row.id,
    session_api_key: row.session_api_key,
    spec: row.isolation,
    ...(row.port === null ? {} : { port: row.port }),
    ...surroundings,
  };
}

/** Creates the folders of a sandbox and stores it; removes the folders when either fails. */
export function withFolders(folders: string[], work: () => void): void {
  try {
    for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 });
    work();
  } catch (error) {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
