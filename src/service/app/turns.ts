/** Work on one thing happens one after the other; work on different things does not wait for each other. */
export interface Turns {
  /** Does the work once all earlier work on the same thing is over, however that ended. */
  take<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Settles when the work that is waiting now is over. */
  last(name: string): Promise<void>;
}

export function createTurns(): Turns {
  const queues = new Map<string, Promise<void>>();
  return {
    take(name, work) {
      const mine = (queues.get(name) ?? Promise.resolve()).then(work);
      const settled = mine.then(
        () => undefined,
        () => undefined,
      );
      queues.set(name, settled);
      void settled.then(() => {
        if (queues.get(name) === settled) queues.delete(name);
      });
      return mine;
    },
    last: (name) => queues.get(name) ?? Promise.resolve(),
  };
}
