/**
 * The order of changes of sandboxes. Each sandbox has a queue: a change is applied when all changes requested before it
 * have ended. Changes of different sandboxes do not wait for each other.
 */
export interface SandboxChanges {
  /** Applies a change once all earlier ones have ended, with or without an error. */
  apply<Result>(id: string, change: () => Promise<Result>): Promise<Result>;
  /** As `apply`, for a change after which the sandbox no longer runs. */
  takeDown<Result>(id: string, change: () => Promise<Result>): Promise<Result>;
  /** As `takeDown`, for its deletion: aborts every use, begun or not. */
  remove<Result>(id: string, change: () => Promise<Result>): Promise<Result>;
  /**
   * As `apply`, for work that needs the sandbox. `deleted` is aborted, and the work fails, when its deletion is
   * requested.
   */
  use<Result>(id: string, work: (deleted: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Whether a change of `takeDown` or `remove` is waiting or under way. */
  isGoingDown(id: string): boolean;
  /** Settles when the changes requested so far are done. */
  last(id: string): Promise<void>;
}

interface Queue {
  /** Settles when the newest change is over. */
  last: Promise<void>;
  waiting: number;
  goingDown: number;
  deletion: AbortController;
}

/** @param deletedReason what the uses of a deleted sandbox are aborted with */
export function createSandboxChanges(deletedReason: () => Error): SandboxChanges {
  const queues = new Map<string, Queue>();
  const queueOf = (id: string): Queue => {
    const known = queues.get(id);
    if (known !== undefined) return known;
    const made = { last: Promise.resolve(), waiting: 0, goingDown: 0, deletion: new AbortController() };
    queues.set(id, made);
    return made;
  };
  const enqueue = <Result>(id: string, queue: Queue, change: () => Promise<Result>): Promise<Result> => {
    queue.waiting += 1;
    const mine = queue.last.then(change);
    const over = (): void => {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(id);
    };
    queue.last = mine.then(over, over);
    return mine;
  };
  const takeDown = <Result>(id: string, change: () => Promise<Result>): Promise<Result> => {
    const queue = queueOf(id);
    queue.goingDown += 1;
    return enqueue(id, queue, change).finally(() => (queue.goingDown -= 1));
  };
  return {
    apply: (id, change) => enqueue(id, queueOf(id), change),
    takeDown,
    remove(id, change) {
      const queue = queueOf(id);
      queue.deletion.abort(deletedReason());
      queue.deletion = new AbortController();
      return takeDown(id, change);
    },
    use(id, work) {
      const queue = queueOf(id);
      const { signal } = queue.deletion;
      return enqueue(id, queue, async () => {
        signal.throwIfAborted();
        try {
          return await work(signal);
        } catch (error) {
          signal.throwIfAborted();
          throw error;
        }
      });
    },
    isGoingDown: (id) => (queues.get(id)?.goingDown ?? 0) > 0,
    last: (id) => queues.get(id)?.last ?? Promise.resolve(),
  };
}
