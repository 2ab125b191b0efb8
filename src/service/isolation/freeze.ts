/** Pausing a sandbox: every process inside is stopped, and continued on resume. */
import { continueProcesses, stopProcesses, type Selection } from './processes.ts';

export interface Freezer {
  /** Returns the number of stopped processes. */
  freeze(): number;
  thaw(): void;
}

/**
 * `bubblewrap`: everything below bwrap, `inside.ts` included; nothing can leave its process-id namespace, and the
 * kernel ends the namespace with the worker even while it is stopped.
 */
export function namespaceFreezer(bwrapPid: number): Freezer {
  return freezer({ below: bwrapPid, marked: null, except: [] });
}

/**
 * `process`: everything below `inside.ts` or carrying the sandbox's mark, but not `inside.ts` itself: a stopped one
 * would not see that the worker is gone, and what it should end would stay behind.
 */
export function treeFreezer(insidePid: number, mark: string): Freezer {
  return freezer({ below: insidePid, marked: mark, except: [insidePid] });
}

function freezer(selection: Selection): Freezer {
  return {
    freeze: () => stopProcesses(selection).length,
    thaw: () => {
      continueProcesses(selection);
    },
  };
}
