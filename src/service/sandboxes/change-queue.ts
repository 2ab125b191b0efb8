interface Queue {
  last: Promise<void>;
  waiting: number;
  goingDown: number;
  deletion: AbortController;
}

/** Changes of one sandbox are applied one after the other, also after an error. */
export class SandboxChanges {
  readonly #queues = new Map<string, Queue>();
  readonly #deletedReason: () => Error;
  readonly #onChange: () => void;

  /** `onChange`: called when a sandbox is to go down, and when all changes of one have ended. */
  constructor(deletedReason: () => Error, onChange: () => void) {
    this.#deletedReason = deletedReason;
    this.#onChange = onChange;
  }

  apply<Result>(id: string, change: () => Promise<Result>): Promise<Result> {
    const queue = this.#queueOf(id);
    queue.waiting += 1;
    const result = queue.last.then(change);
    const end = (): void => {
      queue.waiting -= 1;
      if (queue.waiting > 0) return;
      this.#queues.delete(id);
      this.#onChange();
    };
    queue.last = result.then(end, end);
    return result;
  }

  takeDown<Result>(id: string, change: () => Promise<Result>): Promise<Result> {
    const queue = this.#queueOf(id);
    queue.goingDown += 1;
    const changed = this.apply(id, change).finally(() => (queue.goingDown -= 1));
    this.#onChange();
    return changed;
  }

  /** Like `takeDown`, for its deletion: aborts every use, begun or not. */
  remove<Result>(id: string, change: () => Promise<Result>): Promise<Result> {
    const queue = this.#queueOf(id);
    queue.deletion.abort(this.#deletedReason());
    queue.deletion = new AbortController();
    return this.takeDown(id, change);
  }

  /** Like `apply`; a deletion of the sandbox aborts `deleted`, and the work fails. */
  use<Result>(id: string, work: (deleted: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#queueOf(id).deletion;
    return this.apply(id, async () => {
      signal.throwIfAborted();
      try {
        return await work(signal);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    });
  }

  isIdle(id: string): boolean {
    return !this.#queues.has(id);
  }

  isGoingDown(id: string): boolean {
    return (this.#queues.get(id)?.goingDown ?? 0) > 0;
  }

  #queueOf(id: string): Queue {
    const queue = this.#queues.get(id) ?? {
      last: Promise.resolve(),
      waiting: 0,
      goingDown: 0,
      deletion: new AbortController(),
    };
    this.#queues.set(id, queue);
    return queue;
  }
}
