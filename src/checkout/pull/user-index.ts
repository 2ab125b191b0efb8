/** The index of the user, when the result of a merge goes into it. */
import { closeSync, copyFileSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../errors.ts';
import { git, type GitOptions } from '../git.ts';
import type { StagedChange } from './apply.ts';
import { APPLY_MS, succeeded, type Stage } from './stage.ts';

export interface LockedIndex {
  prepare(stage: Stage, changes: readonly StagedChange[], options: GitOptions, idLength: number): Promise<void>;
  install: () => void;
  release: () => void;
}

/**
 * The user's index under the lock that git itself takes, so that no other git process changes it meanwhile.
 * @throws AppError `conflict` when it is locked
 */
export function lockIndex(index: string): LockedIndex {
  const lock = `${index}.lock`;
  let next = '';
  try {
    closeSync(openSync(lock, 'wx'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new AppError('conflict', `another git process uses this checkout: ${lock} exists`, {
      hint: 'wait for it, or remove the file when no git runs; nothing was changed',
      retryable: true,
    });
  }
  return {
    async prepare(stage, changes, options, idLength) {
      next = path.join(stage.dir, 'index-next');
      if (existsSync(index)) copyFileSync(index, next);
      const entries = new Set(changes.map(({ path: name }) => name));
      const all = (await stage.must(['ls-files', '--stage', '-z'])).split('\0');
      const lines = [...entries].map((name) => `0 ${'0'.repeat(idLength)}\t${name}`);
      for (const entry of all) if (entries.has(entry.slice(entry.indexOf('\t') + 1))) lines.push(entry);
      const args = ['update-index', '-z', '--index-info'];
      const input = Buffer.from(lines.map((line) => `${line}\0`).join(''), 'latin1');
      succeeded(args, await git(args, { ...options, input, place: { GIT_INDEX_FILE: next }, timeoutMs: APPLY_MS }));
    },
    install() {
      copyFileSync(next, lock);
      renameSync(lock, index);
    },
    release: () => rmSync(lock, { force: true }),
  };
}
