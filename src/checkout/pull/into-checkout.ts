/** A patch into a checkout, as uncommitted changes. */
import { copyFileSync, existsSync, rmSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../errors.ts';
import { git, type GitOptions } from '../git.ts';
import { found, install, readable, undo } from './install.ts';
import { applyPatch, listed, summary, type Retrieved, type StagedChange } from './apply.ts';
import {
  APPLY_MS,
  leftStages,
  onSameFileSystem,
  repositoryOf,
  staged,
  stageFolder,
  succeeded,
  type Asking,
  type Repository,
  type Retrieval,
  type Stage,
} from './stage.ts';
import { lockIndex } from './user-index.ts';

export interface IntoCheckout extends Retrieval {
  /** Top folder of the checkout. */
  root: string;
  /** Merge with changes since the base, as `git apply --3way` does; the index then has the result too. */
  threeWay: boolean;
  /** Called when an earlier command was ended in the middle, after its changes have been undone. */
  onUndone: () => Promise<void>;
}

export async function intoCheckout(asked: IntoCheckout, asking: Asking): Promise<Retrieved> {
  const { root, patch, threeWay } = asked;
  const repository = await repositoryOf(root, asking);
  const parent = onSameFileSystem(repository.gitDir, root) ? repository.gitDir : root;
  if (undoLeft(parent, asking)) await asked.onUndone();
  return await staged(stageFolder(parent, asking), repository.gitDir, asking, async (stage) => {
    const head = repository.head ?? repository.emptyTree;
    await stage.must(['read-tree', head]);
    const { changes, conflicts } = await applyPatch(stage, patch, {
      base: head,
      onto: repository.head === null ? 'this checkout, which has no commit' : 'HEAD of this checkout',
      threeWay,
      cached: false,
    });
    await refuseDirty(changes, { ...repository, root }, stage, asking);
    asking.signal?.throwIfAborted();
    if (asked.dryRun || changes.length === 0) return summary(changes, conflicts);
    const index = threeWay ? lockIndex(repository.index) : null;
    try {
      await index?.prepare(stage, changes, { ...asking, cwd: root }, repository.emptyTree.length);
      asking.signal?.throwIfAborted();
      const moves = changes.filter(({ isSubmodule }) => !isSubmodule);
      install({ root, stage: stage.dir, moves, ...(index === null ? {} : { last: index.install }) });
    } finally {
      index?.release();
    }
    return summary(changes, conflicts);
  });
}

/** Whether a command that was ended in the middle had changed files; they are as before then. */
function undoLeft(parent: string, asking: Asking): boolean {
  let undone = false;
  for (const dir of leftStages(parent, asking)) {
    if (undo(dir)) undone = true;
    rmSync(dir, { recursive: true, force: true });
  }
  return undone;
}

/** @throws AppError `conflict` when a path of the patch differs from HEAD, in the index or in the checkout */
async function refuseDirty(
  changes: readonly StagedChange[],
  { root, head, index, emptyTree }: Repository & { root: string },
  stage: Stage,
  asking: Asking,
): Promise<void> {
  const copy = path.join(stage.dir, 'index-of-user');
  if (existsSync(index)) copyWithTime(index, copy);
  const ask = async (...args: string[]): Promise<string[]> => {
    const place = { GIT_INDEX_FILE: copy };
    const options: GitOptions = { ...asking, cwd: root, encoding: 'latin1', place, timeoutMs: APPLY_MS };
    const result = await git(args, options);
    // Refreshing fails where a file differs, which the next question shows.
    if (args[0] === 'update-index' && result.code === 1) return [];
    return succeeded(args, result).split('\0');
  };
  const inIndex = await ask('diff-index', '--cached', '--name-only', '-z', head ?? emptyTree);
  await ask('update-index', '-q', '--refresh');
  const inFiles = await ask('diff-files', '--name-only', '-z');
  const differing = new Set([...inIndex, ...inFiles]);
  const dirty = changes.filter(
    ({ path: name, removes, adds }) => differing.has(name) || (adds && !removes && isFile(root, name)),
  );
  if (dirty.length === 0) return;
  const names = dirty.map(({ path: name }) => readable(name));
  throw new AppError('conflict', `uncommitted changes would be overwritten: ${listed(names)}`, {
    hint: 'nothing was changed; commit or stash yours first: git stash -u',
    data: { paths: names },
  });
}

/**
 * Git reads the content of a file that is as old as the index or newer, because its time and size may be those of before
 * a change within the same second: a copy with a time of its own would hide that change.
 */
function copyWithTime(file: string, copy: string): void {
  copyFileSync(file, copy);
  const seconds = Math.floor(statSync(file).mtimeMs / 1000);
  utimesSync(copy, seconds, seconds);
}

/** A file that git does not know would be lost; a folder gives way only when it is empty. */
function isFile(root: string, name: string): boolean {
  return found(root, name)?.isDirectory() === false;
}
