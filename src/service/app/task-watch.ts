import type { StartTaskRow } from '../store/start-tasks.ts';

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
    async *watch(taskId, read) {
      const seen: StartTaskRow[] = [];
      let wake = (): void => undefined;
      const listener = (): void => {
        const row = read();
        if (row !== null) seen.push(row);
        wake();
      };
      const listeners = watchers.get(taskId) ?? new Set();
      watchers.set(taskId, listeners.add(listener));
      listener();
      try {
        for (;;) {
          const next = seen.shift();
          if (next === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            continue;
          }
          yield next;
          if (next.status === 'READY' || next.status === 'ERROR') return;
        }
      } finally {
        listeners.delete(listener);
        if (listeners.size === 0) watchers.delete(taskId);
      }
    },
  };
}
