import { liveOwner } from '../../base/lock.ts';
import { dataPaths } from './data-dir.ts';
import type { ServiceApi, ServeFlags } from './service-options.ts';
import { readSmallRecord } from '../../base/small-file.ts';
import { readKey } from './small-file.ts';

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

/**
 * The service that runs on a data directory: its process exists and owns the directory. Null: none.
 */
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
  const {
    scenario = null,
    replay = null,
    life = null,
    asked = {},
    ...found
  } = readSmallRecord(file) ?? {};
  const { pid, port, url, version } = found;
  const isUsable =
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    Number.isInteger(port) &&
    typeof version === 'string' &&
    typeof asked === 'object' &&
    String(url).startsWith('http://');
  return isUsable
    ? ({ ...found, scenario, replay, life, asked: asked ?? {} } as unknown as ServiceState)
    : null;
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
