import type { Clock } from '../lifecycle/clock.ts';
import type { Store } from '../storage/index.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';

interface Options {
  store: Store;
  clock: Clock;
  log(line: string): void;
  maxRunning: number;
  /** The time in which clients may use a sandbox after its start, and after the end of its run. */
  keepMs: number;
  /** Sandboxes that have a place; what goes down counts as gone. */
  running(): string[];
  isIdle(id: string): boolean;
  /** Why the start of this sandbox may not wait; null: it may. */
  refusal(id: string): Error | null;
  /** Pauses a sandbox unless a run has begun in it. */
  evict(id: string, why: string): Promise<unknown>;
}

interface WaitingStart {
  /** Begins the start; with a reason, rejects it. */
  settle(why: Error | null): void;
  onWait: ((why: string) => void) | null;
}

/** Starts take places in the order of the requests; one eviction at a time. */
export class Admission {
  readonly #options: Options;
  readonly #waiting = new Map<string, WaitingStart>();
  #isWorking = false;
  #keepTimer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  isWaiting(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** `begin` takes the place; `onWait`: none is free. Rejects with a refusal or its error. */
  enter<Begun>(id: string, begin: () => Begun, onWait: (why: string) => void): Promise<Begun> {
    return new Promise((resolve, reject) => {
      const settle = (why: Error | null): void => {
        this.#waiting.delete(id);
        try {
          if (why !== null) throw why;
          resolve(begin());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.set(id, { settle, onWait });
      this.next();
    });
  }

  /** Called after a change that may free a place or end a waiting start. */
  next(): void {
    if (this.#isWorking) return;
    this.#work().catch((error: unknown) =>
      this.#options.log(`starts that wait for a sandbox: ${error}`),
    );
  }

  async #work(): Promise<void> {
    const { maxRunning, evict, log } = this.#options;
    const tried = new Set<string>();
    this.#isWorking = true;
    try {
      for (this.#admit(); this.#waiting.size > 0; this.#admit()) {
        const id = this.#nextToEvict(tried);
        if (id === null) break;
        tried.add(id);
        await evict(id, `paused because more than ${maxRunning} sandboxes were running`).catch(
          (error: unknown) => log(`sandbox ${id}: ${error}`),
        );
      }
      for (const start of this.#waiting.values()) {
        const { onWait } = start;
        start.onWait = null;
        onWait?.(`${maxRunning} sandboxes are in use, and none of them is idle`);
      }
    } finally {
      this.#isWorking = false;
    }
  }

  #admit(): void {
    const { running, maxRunning, refusal } = this.#options;
    for (const [id, { settle }] of this.#waiting) {
      const isFree = running().length < maxRunning;
      const why = isFree ? null : refusal(id);
      if (isFree || why !== null) settle(why);
    }
  }

  #nextToEvict(tried: Set<string>): string | null {
    const { store, clock, keepMs, running, isIdle } = this.#options;
    const row = toEvict(
      store,
      running().filter((id) => isIdle(id) && !tried.has(id)),
    );
    if (row === null) return null;
    clearTimeout(this.#keepTimer);
    const leftMs = Date.parse(row.last_active_at) + keepMs - clock.now();
    if (leftMs <= 0) return row.id;
    this.#keepTimer = setTimeout(() => this.next(), Math.min(leftMs, keepMs)).unref();
    return null;
  }
}

/** The longest idle; one whose run awaits approval last, one with a run in progress never. */
export function toEvict(store: Store, ids: string[]): SandboxRow | null {
  const rows = ids.flatMap((id) => {
    const row = store.sandboxes.get(id);
    const statuses = store.conversations
      .ofSandbox(id)
      .map(({ execution_status }) => execution_status);
    const waits = Number(statuses.includes('waiting_for_confirmation'));
    return row?.status !== 'RUNNING' || statuses.includes('running')
      ? []
      : { row, key: `${waits} ${row.last_active_at}` };
  });
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1))[0]?.row ?? null;
}
