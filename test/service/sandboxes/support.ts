/** A store in a temporary folder, and rows for it; the changes of sandboxes over V1. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { openStore, type Store } from '../../../src/service/storage/index.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import type { Answer, TestApp } from '../app/support.ts';

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

export interface SandboxCalls {
  /** The id of a new sandbox. */
  newSandbox: () => Promise<string>;
  post: (id: string, verb: 'pause' | 'resume') => Promise<Answer>;
  remove: (id: string) => Promise<Answer>;
  statusOf: (id: string) => string | null;
  /** The state after every requested change. */
  settled: (id: string) => Promise<string | null>;
}

/** Changes of sandboxes, over V1, at the app server that `app` returns at each call. */
export function sandboxCalls(app: () => Pick<TestApp, 'call' | 'store' | 'context'>): SandboxCalls {
  const route = '/api/v1/sandboxes';
  const statusOf = (id: string): string | null => app().store.sandboxes.get(id)?.status ?? null;
  return {
    newSandbox: async () => ((await app().call('POST', route)).body as { id: string }).id,
    post: (id, verb) => app().call('POST', `${route}/${id}/${verb}`),
    remove: (id) => app().call('DELETE', `${route}/${id}?sandbox_id=${id}`),
    statusOf,
    async settled(id) {
      await app()
        .context.supervisor.whenRunning(id)
        .catch(() => undefined);
      return statusOf(id);
    },
  };
}
