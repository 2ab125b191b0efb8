/** A store in a temporary folder, and rows for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';

export interface StoreOfTest {
  readonly dir: string;
  readonly store: Store;
  /** Stores a sandbox that runs, with these members. */
  add(more?: Partial<SandboxRow>): SandboxRow;
}

/** For the tests of a file: each has a store of its own. */
export function storeOfTest(): StoreOfTest {
  let dir: string;
  let store: Store;
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), 'acs-sandboxes-'));
    store = openStore(path.join(dir, 'service.db'));
  });
  afterEach(() => {
    store.close();
    rmSync(dir, { recursive: true });
  });
  return {
    get dir() {
      return dir;
    },
    get store() {
      return store;
    },
    add(more = {}) {
      const row = { ...newSandbox('process', '2026-01-01T00:00:00.000000Z'), status: 'RUNNING' as const, ...more };
      store.sandboxes.insert(row);
      return row;
    },
  };
}
