import type { Clock } from '../lifecycle/clock.ts';
import type { Store } from '../storage/index.ts';
import type { SandboxRow } from '../storage/sandboxes.ts';

interface Options {
  store: Store;
  clock: Clock;
  log(line: string): void;
  maxRunning: number;
  /** How long a sandbox is kept for its clients after its start and after the end of its run. */
  keepMs: number;
  /** Sandboxes that have a place; what goes down counts as gone. */
  running(): string[];
  /** Whether no change of the sandbox is in progress. */
  isIdle(id: string): boolean;
  /** Why the start of this sandbox may not wait; null: it may. */
  refusal(id: string): Error | null;
  /** Pauses a sandbox unless a run has begun in it. */
  evict(id: string, why: string): Promise<unknown>;
}

export interface Admission {
  isWaiting(id: string): boolean;
  /** `begin` takes the place; `onWait`: none is free. Rejects with a refusal or its error. */
  enter<Begun>(id: string, begin: () => Begun, onWait: (why: string) => void): Promise<Begun>;
  /** Called after a change that may free a place or end a waiting start. */
  next(): void;
}

/** Starts take places in the order of the requests; one eviction at a time. */
export function createAdmission(options: Options): Admission {
  const { store, clock, log, maxRunning, keepMs, running, isIdle, refusal, evict } = options;
  /** `settle` begins the start, or rejects it; `onWait` is null once it was called. */
  const waiting = new Map<
    string,
    { settle(why: Error | null): void; onWait: ((why: string) => void) | null }
  >();
  let isWorking = false;
  let keepTimer: NodeJS.Timeout | undefined;

  const next = (): void => {
    if (isWorking) return;
    work().catch((error: unknown) => {
      log(`starts that wait for a sandbox: ${error}`);
    });
  };

  const work = async (): Promise<void> => {
    const tried = new Set<string>();
    isWorking = true;
    try {
      for (admit(); waiting.size > 0; admit()) {
        const id = nextToEvict(tried);
        if (id === null) break;
        tried.add(id);
        await evict(id, `paused because more than ${maxRunning} sandboxes were running`).catch(
          (error: unknown) => {
            log(`sandbox ${id}: ${error}`);
          },
        );
      }
      for (const start of waiting.values()) {
        const { onWait } = start;
        start.onWait = null;
        onWait?.(`${maxRunning} sandboxes are in use, and none of them is idle`);
      }
    } finally {
      isWorking = false;
    }
  };

  const admit = (): void => {
    for (const [id, { settle }] of waiting) {
      const isFree = running().length < maxRunning;
      const why = isFree ? null : refusal(id);
      if (isFree || why !== null) settle(why);
    }
  };

  const nextToEvict = (tried: Set<string>): string | null => {
    const row = toEvict(
      store,
      running().filter((id) => isIdle(id) && !tried.has(id)),
    );
    if (row === null) return null;
    clearTimeout(keepTimer);
    const leftMs = Date.parse(row.last_active_at) + keepMs - clock.now();
    if (leftMs <= 0) return row.id;
    keepTimer = setTimeout(next, Math.min(leftMs, keepMs)).unref();
    return null;
  };

  return {
    isWaiting: (id) => waiting.has(id),
    enter: (id, begin, onWait) =>
      new Promise((resolve, reject) => {
        const settle = (why: Error | null): void => {
          waiting.delete(id);
          try {
            if (why !== null) throw why;
            resolve(begin());
          } catch (error) {
            reject(error);
          }
        };
        waiting.set(id, { settle, onWait });
        next();
      }),
    next,
  };
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
