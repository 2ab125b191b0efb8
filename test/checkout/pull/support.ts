/** Checkouts and patches for these tests, made by git. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { createRetriever, type Retriever } from '../../../src/checkout/pull/index.ts';
import { git, shell } from '../../support/patch-matrix.ts';

export interface Place {
  dir: string;
  /** A checkout with the commit `base` and nothing else. */
  root: string;
  retriever: Retriever;
  /** The patch of these commands on the base. */
  patchOf(changes: string): Uint8Array;
}

export const ENV = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};

export const PROCESS = { pid: process.pid, isRunning: (pid: number) => pid === process.pid };

/** @param base shell commands that make the files of the first commit */
export function usePlace(base: string): Place {
  const all = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-pull-test-')));
  afterAll(() => rmSync(all, { recursive: true, force: true }));
  let dir = '';
  beforeEach(() => {
    dir = mkdtempSync(path.join(all, 'place-'));
    const root = path.join(dir, 'root');
    git(dir, 'init', '-q', '-b', 'main', root);
    shell(root, base);
    git(root, 'add', '-A');
    git(root, 'commit', '-q', '--allow-empty', '-m', 'base');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  return {
    get dir() {
      return dir;
    },
    get root() {
      return path.join(dir, 'root');
    },
    retriever: createRetriever({ ...PROCESS, env: ENV }),
    patchOf(changes) {
      const other = mkdtempSync(path.join(dir, 'other-'));
      git(dir, 'clone', '-q', path.join(dir, 'root'), other);
      shell(other, changes);
      git(other, 'add', '-A');
      const text = git(other, 'diff', '--cached', '--binary', '--full-index', '-M', 'HEAD');
      rmSync(other, { recursive: true });
      return new TextEncoder().encode(`${text}\n`);
    },
  };
}
