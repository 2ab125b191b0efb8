import { rmSync } from 'node:fs';
import { readHolder } from './lock.ts';
import type { ServiceApi, ServeFlags } from './service-options.ts';
import type { dataPaths } from './paths.ts';
import { isAlive, selfIdentity, type ProcessIdentity } from './process.ts';
import { readSmallRecord } from './small-file.ts';

/** The state file: where a service listens. */
export interface ServiceState {
  pid: number;
  /** Start time of the process as the system reports it. */
  process_start: string | null;
  /** RFC 3339. */
  started_at: string;
  host: string;
  port: number;
  url: string;
  version: string;
  api: ServiceApi;
  /** The scenario file; null: no faults are injected. */
  scenario: string | null;
  /** The default replay of conversations: `demo` or a path; null: none. */
  replay: string | null;
  /** `foreground`: runs in a terminal. Null: unknown, for a service of an older version. */
  life: 'foreground' | 'background' | null;
  /** Its options, with which a replacement is started. */
  asked: ServeFlags;
}

const APIS: readonly unknown[] = ['v0', 'v1', 'both'];
const LIVES: readonly unknown[] = ['foreground', 'background'];
const SPECS: readonly unknown[] = ['bubblewrap', 'bubblewrap-offline', 'process'];

/** Reads the state file; null when there is none or it is invalid. */
export function readState(file: string): ServiceState | null {
  const found = readSmallRecord(file);
  if (found === null) return null;
  const {
    pid,
    process_start,
    started_at,
    host,
    port,
    url,
    version,
    api,
    scenario = null,
    replay = null,
    life,
    asked,
  } = found;
  const makesSense =
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    (typeof process_start === 'string' || process_start === null) &&
    [started_at, host, version].every((each) => typeof each === 'string') &&
    isPort(port) &&
    typeof url === 'string' &&
    url.startsWith('http://') &&
    APIS.includes(api) &&
    [scenario, replay].every((each) => each === null || typeof each === 'string');
  if (!makesSense) return null;
  return {
    ...(found as unknown as ServiceState),
    scenario: scenario as string | null,
    replay: replay as string | null,
    life: LIVES.includes(life) ? (life as ServiceState['life']) : null,
    asked: flagsOf(asked),
  };
}

function flagsOf(asked: unknown): ServeFlags {
  if (typeof asked !== 'object' || asked === null) return {};
  const { host, port, api, spec, idleTimeoutMs, scenario, replay } = asked as Record<string, unknown>;
  return {
    ...(typeof host === 'string' ? { host } : {}),
    ...(isPort(port) ? { port } : {}),
    ...(APIS.includes(api) ? { api: api as ServiceApi } : {}),
    ...(SPECS.includes(spec) ? { spec: spec as NonNullable<ServeFlags['spec']> } : {}),
    ...(typeof idleTimeoutMs === 'number' && idleTimeoutMs >= 0 ? { idleTimeoutMs } : {}),
    ...(typeof scenario === 'string' ? { scenario } : {}),
    ...(typeof replay === 'string' ? { replay } : {}),
  };
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
}

/** The state of a service that runs: its process exists and owns the data directory. */
export function readRunning(paths: ReturnType<typeof dataPaths>): ServiceState | null {
  const state = readState(paths.state);
  const owner = liveOwner(paths.lock);
  if (state === null || owner === null) return null;
  return owner.pid === state.pid && owner.start === state.process_start ? state : null;
}

/**
 * The living process that owns a data directory. Null also when the lock does not say when that one started although
 * this machine reports start times: then no service wrote it, and the pid may be of any process.
 */
export function liveOwner(lock: string): ProcessIdentity | null {
  const holder = readHolder(lock);
  if (holder === null || (holder.start === null && selfIdentity().start !== null)) return null;
  return isAlive(holder) ? holder : null;
}

/** Removes the state file, unless another service has written its own since. */
export function removeState(file: string, mine: ServiceState): void {
  const found = readState(file);
  if (found?.pid === mine.pid && found.process_start === mine.process_start) rmSync(file, { force: true });
}
