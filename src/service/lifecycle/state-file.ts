import { rmSync } from 'node:fs';
import { liveOwner } from '../../base/lock.ts';
import { selfIdentity } from '../../base/process.ts';
import { dataPaths } from './data-dir.ts';
import type { ServiceApi, ServeFlags, ServiceOptions } from './service-options.ts';
import { readSmallRecord } from '../../base/small-file.ts';
import { readKey, writePrivateFile } from './small-file.ts';

export interface ServiceState {
  pid: number;
  process_start: string | null;
  started_at: string;
  host: string;
  port: number;
  url: string;
  version: string;
  api: ServiceApi;
  scenario: string | null;
  replay: string | null;
  /** `foreground`: runs in a terminal. Null: unknown, for a service of an older version. */
  life: 'foreground' | 'background' | null;
  asked: ServeFlags;
}

export interface FoundService {
  state: ServiceState;
  key: string;
}

export function stateOf(options: ServiceOptions, port: number, startedAt: string): ServiceState {
  const { host = '127.0.0.1', api = 'both', scenario = null, replay = null } = options;
  const { version, life = 'foreground' } = options;
  const { spec, sandboxMemory, sandboxProcesses, idleTimeoutMs } = options;
  // A wildcard address cannot be connected to.
  const wildcards: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = wildcards[host] ?? host;
  const { pid, start } = selfIdentity();
  return {
    pid,
    process_start: start,
    started_at: startedAt,
    host,
    port,
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    version,
    api,
    scenario,
    replay,
    life,
    asked: {
      host: options.host,
      port: options.port,
      api: options.api,
      spec,
      sandboxMemory,
      sandboxProcesses,
      idleTimeoutMs,
      scenario: options.scenario,
      replay: options.replay,
    },
  };
}

/** Writes the file; returns its removal, unless another service has written its own since. */
export function publishState(file: string, state: ServiceState): () => void {
  writePrivateFile(file, `${JSON.stringify(state)}\n`);
  return () => {
    const stored = readState(file);
    if (stored?.pid === state.pid && stored.process_start === state.process_start)
      rmSync(file, { force: true });
  };
}

/** The service whose process exists and owns the data directory; null: none. */
export function runningService(dataDir: string): FoundService | null {
  const paths = dataPaths(dataDir);
  const state = readState(paths.state);
  const owner = liveOwner(paths.lock);
  const key = readKey(paths.key);
  if (state === null || owner === null || key === null) return null;
  return owner.pid === state.pid && owner.start === state.process_start ? { state, key } : null;
}

/** Null when there is none or it is damaged. Members that an older version lacks are null. */
export function readState(file: string): ServiceState | null {
  const absent = { scenario: null, replay: null, life: null, asked: {} };
  const state = { ...absent, ...readSmallRecord(file) } as Partial<Record<string, unknown>>;
  const { pid, port, url, version, asked } = state;
  const isUsable =
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    Number.isInteger(port) &&
    typeof version === 'string' &&
    typeof asked === 'object' &&
    String(url).startsWith('http://');
  return isUsable ? ({ ...state, asked: asked ?? {} } as unknown as ServiceState) : null;
}

export interface ServiceActivity {
  running: boolean;
  conversations_running: number;
  sandboxes_running: number;
  /** Absent in the answer of an older version. */
  unknown_workspaces?: string[];
}

/** The activity of a service; null without a valid answer in 3 seconds. */
export async function askActivity({ state, key }: FoundService): Promise<ServiceActivity | null> {
  try {
    const headers = { 'X-Session-API-Key': key };
    const answer = await fetch(`${state.url}/local/activity`, {
      headers,
      signal: AbortSignal.timeout(3000),
    });
    return answer.ok ? ((await answer.json()) as ServiceActivity) : null;
  } catch {
    return null;
  }
}
