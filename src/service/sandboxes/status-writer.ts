/** Write-behind queue for sandbox status: retries while the disk is full. */
import type { SandboxChange, SandboxStore } from '../storage/sandboxes.ts';

export interface SandboxStatusWriter {
  /** Effective at once; written at once, or as soon as the disk has space. */
  write(id: string, change: SandboxChange): void;
  /** Retries the pending writes. */
  close(): void;
}

const RETRY_PAUSE_MS = 1000;

export function createSandboxStatusWriter(sandboxes: SandboxStore, log: (line: string) => void): SandboxStatusWriter {
  let timer: NodeJS.Timeout | null = null;
  const settle = (): void => {
    timer = null;
    try {
      sandboxes.settle();
      log('what could not be written about sandboxes is written');
    } catch {
      later();
    }
  };
  const later = (): void => {
    timer ??= setTimeout(settle, RETRY_PAUSE_MS).unref();
  };
  return {
    write(id, change) {
      const refusal = sandboxes.updateOrKeep(id, change);
      if (refusal === null) return;
      log(`sandbox ${id}: its state is kept in memory until it can be written: ${String(refusal)}`);
      later();
    },
    close() {
      if (timer === null) return;
      clearTimeout(timer);
      settle();
      if (timer !== null) clearTimeout(timer);
    },
  };
}
