import type { Store } from '../storage/index.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';

const DEFAULT_MAX_RUNNING = 20;

export interface Eviction {
  ids: string[];
  /** Shown with a sandbox that was paused. */
  detail: string;
}

/**
 * The sandboxes to pause so that no more than `maxRunning` run: the longest idle first, one with a running conversation
 * last, `keep` never.
 */
export function toEvict(store: Store, keep: string, maxRunning = DEFAULT_MAX_RUNNING): Eviction {
  const detail = `paused because more than ${maxRunning} sandboxes were running`;
  const running = store.sandboxes.all().filter((row) => row.status === 'RUNNING' || row.status === 'STARTING');
  const excess = running.length - maxRunning;
  if (excess <= 0) return { ids: [], detail };
  const isBusy = (row: SandboxRow): boolean =>
    store.conversations.ofSandbox(row.id).some((conversation) => conversation.execution_status === 'running');
  const candidates = running
    .filter((row) => row.id !== keep)
    .map((row) => ({ id: row.id, busy: isBusy(row) ? 1 : 0, since: row.last_active_at }))
    .sort((a, b) => a.busy - b.busy || (a.since < b.since ? -1 : 1));
  return { ids: candidates.slice(0, excess).map((candidate) => candidate.id), detail };
}
