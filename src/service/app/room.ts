import type { Store } from '../store/index.ts';
import type { SandboxRow } from '../store/sandboxes.ts';

/**
 * The sandboxes to pause so that no more than `maxRunning` run: the longest idle first, one with a running conversation
 * last, `keep` never.
 */
export function oneTooMany(store: Store, maxRunning: number, keep: string): string[] {
  const running = store.sandboxes.all().filter((row) => row.status === 'RUNNING' || row.status === 'STARTING');
  const excess = running.length - maxRunning;
  if (excess <= 0) return [];
  const isBusy = (row: SandboxRow): boolean =>
    store.conversations.ofSandbox(row.id).some((conversation) => conversation.execution_status === 'running');
  const candidates = running
    .filter((row) => row.id !== keep)
    .map((row) => ({ id: row.id, busy: isBusy(row) ? 1 : 0, since: row.last_active_at }))
    .sort((a, b) => a.busy - b.busy || (a.since < b.since ? -1 : 1));
  return candidates.slice(0, excess).map((candidate) => candidate.id);
}
