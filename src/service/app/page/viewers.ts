/** The browsers that have a live page open, and the signal on which each reads what may have changed. */
export interface Viewer {
  /** Resolves when something may have changed since the last call, or the stream ends. */
  next(): Promise<'changed' | 'left' | 'service-ends'>;
  leave(): void;
}

export interface Viewers {
  join(): Viewer;
  /** A conversation, a sandbox or an event log may have changed. */
  notify(): void;
  count(): number;
  /** Ends all streams. */
  close(): void;
}

type State = 'waits' | 'changed' | 'left' | 'service-ends';

export function createViewers(): Viewers {
  const all = new Set<(state: State) => void>();
  let isClosed = false;
  return {
    join() {
      let state: State = isClosed ? 'service-ends' : 'waits';
      let wake = (): void => undefined;
      const set = (next: State): void => {
        if (state === 'waits' || state === 'changed') state = next;
        wake();
      };
      all.add(set);
      return {
        async next() {
          if (state === 'waits') {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          if (state !== 'changed') return state as 'left' | 'service-ends';
          state = 'waits';
          return 'changed';
        },
        leave() {
          all.delete(set);
          set('left');
        },
      };
    },
    notify() {
      for (const set of all) set('changed');
    },
    count: () => all.size,
    close() {
      isClosed = true;
      for (const set of all) set('service-ends');
    },
  };
}
