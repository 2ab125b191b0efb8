/** A backend whose conversation has a worktree of a checkout, both on its machine with real git. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach } from 'vitest';
import { git } from '../../support/patch-matrix.ts';
import { NOT_FOUND } from '../../support/server.ts';
import { useWorld, type Suite } from '../../support/use-world.ts';
import { BACKEND_DASHED_ID, backendMachine, type Machine } from './backend-server.ts';

export const BRANCH = `openhands/${BACKEND_DASHED_ID}`;

export interface BackendSuite extends Suite {
  machine: Machine;
  checkout: string;
  worktree: string;
  /** The commit of both. */
  base: string;
  /** Writes a file of the worktree. */
  write(name: string, text: string): void;
  /** Of the record. */
  runsIn(folder: string, tags?: Record<string, string>): void;
  shell(cwd: string, command: string): void;
  commit(cwd: string, message: string): void;
}

export function useBackendWorktree(): BackendSuite {
  const world = useWorld({ script: () => NOT_FOUND });
  const own: Omit<BackendSuite, keyof Suite> = {
    machine: backendMachine(''),
    checkout: '',
    worktree: '',
    base: '',
    write: (name, text) => writeFileSync(path.join(at.worktree, name), text),
    runsIn: (folder, tags = {}) =>
      void Object.assign(at.machine.record ?? {}, { workspace: { working_dir: folder }, tags }),
    shell: (cwd, command) => void execFileSync('sh', ['-ec', command], { cwd, stdio: 'pipe' }),
    commit(cwd, message) {
      git(cwd, 'add', '.');
      git(cwd, 'commit', '-q', '-m', message);
    },
  };
  const at: BackendSuite = Object.assign(world, own);
  let tests = 0;
  beforeEach(() => {
    const home = path.join(world.dir, `home-${(tests += 1)}`);
    at.checkout = path.join(home, 'app');
    at.worktree = path.join(home, 'worktrees', BACKEND_DASHED_ID, 'app');
    mkdirSync(at.checkout, { recursive: true });
    at.machine = backendMachine(home);
    world.server.handler = (asked) => at.machine.handler(asked);
    git(at.checkout, 'init', '-q', '-b', 'main');
    writeFileSync(path.join(at.checkout, 'a.txt'), 'one\n');
    writeFileSync(path.join(at.checkout, '.gitignore'), 'dist/\n');
    at.commit(at.checkout, 'first');
    at.base = git(at.checkout, 'rev-parse', 'HEAD');
    git(at.checkout, 'worktree', 'add', '-q', '-b', BRANCH, at.worktree, at.base);
    at.runsIn(at.worktree, { acsbase: at.base, acscheckout: at.checkout });
  });
  return at;
}
