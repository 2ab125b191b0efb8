import type { StartTaskRow } from '../storage/start-tasks.ts';

/** Tells those who watch a start task of each of its states. */
export interface TaskWatchers {
  tell(taskId: string): void;
  /** Each state from now to the end, as `read` finds it; ends with READY or ERROR. */
  watch(taskId: string, read: () => StartTaskRow | null): AsyncGenerator<StartTaskRow, void>;
}

export function createTaskWatchers(): TaskWatchers {
  const watchers = new Map<string, Set<() => void>>();
  return {
    tell(taskId) {
      for (const listener of watchers.get(taskId) ?? []) listener();
    },
    watch(taskId, read) {
      const seen: StartTaskRow[] = [];
      const waiting: { wake(): void } = { wake: () => undefined };
      const listener = (): void => {
        const row = read();
        if (row !== null) seen.push(row);
        waiting.wake();
      };
      // At once, not with the first question: what happens until then is seen as well.
      const listeners = watchers.get(taskId) ?? new Set();
      watchers.set(taskId, listeners.add(listener));
      listener();
      return states(seen, waiting, () => {
        listeners.delete(listener);
        if (listeners.size === 0) watchers.delete(taskId);
      });
    },
  };
}

async function* states(
  seen: StartTaskRow[],
  waiting: { wake(): void },
  leave: () => void,
): AsyncGenerator<StartTaskRow, void> {
  try {
    for (;;) {
      const next = seen.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          waiting.wake = resolve;
        });
        continue;
      }
      yield next;
      if (next.status === 'READY' || next.status === 'ERROR') return;
    }
  } finally {
    leave();
  }
}
