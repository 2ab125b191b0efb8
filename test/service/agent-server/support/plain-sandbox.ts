import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { Sandbox } from '../../../../src/service/isolation/sandbox.ts';

/**
 * A sandbox without isolation for the tests of a file. Each call of `folder` makes a folder, below
 * the workspace.
 */
export function usePlainSandbox(): {
  readonly sandbox: Sandbox;
  another: () => Sandbox;
  folder: () => string;
} {
  let dir: string;
  let sandbox: Sandbox;
  let another: (id: string) => Sandbox;
  beforeAll(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'acs-plain-'));
    const workspace_dir = path.join(dir, 'workspaces', 'one');
    mkdirSync(workspace_dir, { recursive: true });
    const root = path.resolve(import.meta.dirname, '../../../..');
    const rest = { session_api_key: 'key', events_dir: dir, database: '', initial_env: {} };
    another = (sandbox_id) =>
      new Sandbox({ sandbox_id, spec: 'process', workspace_dir, root, ...rest });
    sandbox = another(path.basename(dir));
    await sandbox.folders();
  });
  afterAll(async () => {
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get sandbox() {
      return sandbox;
    },
    /** Of the same folders. */
    another: () => another('another'),
    folder: () => mkdtempSync(path.join(dir, 'workspaces', 'one', 'test-')),
  };
}
