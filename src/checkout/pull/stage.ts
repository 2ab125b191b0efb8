/**
 * A temporary folder in which git applies a patch to copies of the files that it changes: an index and a work tree of
 * its own (`index`, `new/`), objects in the repository. Git itself refuses paths that lead outside, into `.git` or
 * through a link.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { AppError, isAppError } from '../../errors.ts';
import { git, type GitOptions, type GitResult } from '../git.ts';
import { isUnfinished } from './install.ts';

/** A large patch, and a large index, take minutes on a slow disk. */
export const APPLY_MS = 600_000;

export interface Asking extends Omit<GitOptions, 'cwd' | 'timeoutMs' | 'input' | 'encoding' | 'place'> {
  /** Of this process, and of those whose folders are found. */
  pid: number;
  isRunning: (pid: number) => boolean;
}

export interface Stage {
  dir: string;
  /** Runs git on the index and the work tree of the stage. */
  git(args: readonly string[], input?: Uint8Array | string): Promise<GitResult>;
  /** As `git`; throws `config` with what git printed when it fails. */
  must(args: readonly string[], input?: Uint8Array | string): Promise<string>;
  remove(): void;
}

export interface Retrieval {
  patch: Uint8Array;
  /** Check everything and write nothing. */
  dryRun: boolean;
}

/** @param gitDir whose objects are used and extended */
export function openStage(dir: string, gitDir: string, asking: Asking): Stage {
  const tree = path.join(dir, 'new');
  mkdirSync(tree, { recursive: true });
  const place = { GIT_DIR: gitDir, GIT_WORK_TREE: tree, GIT_INDEX_FILE: path.join(dir, 'index') };
  const run: Stage['git'] = (args, input) =>
    git(args, { ...asking, input, cwd: tree, timeoutMs: APPLY_MS, encoding: 'latin1', place });
  return {
    dir,
    git: run,
    must: async (args, input) => succeeded(args, await run(args, input)),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export function succeeded(args: readonly string[], { code, stdout, stderr }: GitResult): string {
  if (code === 0) return stdout;
  throw new AppError('config', `git ${args[0] ?? ''} failed: ${code === null ? 'it took too long' : stderr}`, {
    hint: 'nothing was changed',
  });
}

const PREFIX = 'acs-pull-';

/** A new folder for a stage; the name contains the id of its process. */
export function stageFolder(parent: string, { pid }: Pick<Asking, 'pid'>): string {
  try {
    return mkdtempSync(path.join(parent, `${PREFIX}${pid}-`));
  } catch (error) {
    throw unwritable(parent, error);
  }
}

function unwritable(folder: string, error: unknown): AppError {
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('config', `cannot write in ${folder}: ${reason}`, { hint: 'nothing was changed', cause: error });
}

/** Stages of processes that no longer run. */
export function leftStages(parent: string, { isRunning }: Pick<Asking, 'isRunning'>): string[] {
  return readdirSync(parent)
    .filter((name) => name.startsWith(PREFIX) && !isRunning(Number(name.slice(PREFIX.length).split('-')[0])))
    .map((name) => path.join(parent, name));
}

/** Whether a rename between them works. */
export function onSameFileSystem(one: string, other: string): boolean {
  return statSync(one).dev === statSync(other).dev;
}

export interface Repository {
  gitDir: string;
  /** Of the user; it may not exist yet. */
  index: string;
  /** Null before the first commit. */
  head: string | null;
  /** Id of the empty tree, which every repository has; its length is that of all ids. */
  emptyTree: string;
}

export async function repositoryOf(root: string, asking: Asking): Promise<Repository> {
  const here: GitOptions = { ...asking, cwd: root };
  const args = ['rev-parse', '--absolute-git-dir', '--git-path', 'index'];
  const [gitDir = '', index = ''] = succeeded(args, await git(args, here)).split('\n');
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], here);
  return {
    gitDir,
    index: path.resolve(root, index),
    head: head.code === 0 ? head.stdout.trim() : null,
    emptyTree: await emptyTreeOf(here),
  };
}

export async function staged<T>(
  dir: string,
  gitDir: string,
  asking: Asking,
  use: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = openStage(dir, gitDir, asking);
  try {
    return await use(stage);
  } catch (error) {
    if (isAppError(error) || !(error instanceof Error) || !('syscall' in error)) throw error;
    throw unwritable(path.dirname(dir), error);
  } finally {
    if (!isUnfinished(dir)) stage.remove();
  }
}

export async function emptyTreeOf(here: GitOptions): Promise<string> {
  const args = ['hash-object', '-t', 'tree', '--stdin'];
  return succeeded(args, await git(args, { ...here, input: '' })).trim();
}
