/**
 * `git apply` changes all files or none, and refuses paths that lead outside, into `.git` or
 * through a link.
 */
import { lstatSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AppError, cannotWrite, isOfKind, NO_FOLDER } from '../../base/errors.ts';
import { inTemporaryFolder } from '../../base/temporary-folder.ts';
import { cut } from '../../base/text/well-formed.ts';
import { git, inRepository, revision, type GitOptions } from './git.ts';
import { withIndex } from './snapshot.ts';
import {
  applyPatch,
  gitOutput,
  lineEndAttributes,
  listed,
  type Patch,
  readable,
  readPatch,
  UNCHANGED,
} from './patch.ts';

export interface Retrieval {
  patch: Uint8Array;
  threeWay: boolean;
  dryRun: boolean;
}

export interface Retrieved {
  files: string[];
  conflicts: string[];
  /** Submodules whose commit changed are not touched. */
  submodules: string[];
  commit: string | null;
}

const TEMPORARY = 'acs-pull-';

/** Neither settings of the user nor attributes of the patch convert files. */
const KEEP_BYTES = '* -text !eol -ident -filter -working-tree-encoding\n';

export class Retriever {
  private readonly options: Omit<GitOptions, 'cwd'>;

  constructor(options: Pick<GitOptions, 'env' | 'signal'>) {
    this.options = { ...options, timeoutMs: 600_000, encoding: 'latin1' };
  }

  /** Throws `conflict` for a patch that does not apply or would overwrite changes of the user. */
  async intoCheckout(root: string, asked: Retrieval): Promise<Retrieved> {
    const here = await inRepository(this.at(root));
    const patch = await readPatch(asked.patch, here);
    if (patch.paths.length === 0) return retrieved(patch);
    await refuseUncommitted(patch, asked, here);
    refuseLinks(root, patch.paths);
    const flags = asked.threeWay ? ['--3way'] : [];
    // git compares times with those in the index, and takes a copy of a file for a changed one.
    if (asked.threeWay) await git(['update-index', '-q', '--refresh'], here);
    return await inTemporaryFolder(TEMPORARY, async (temporary) => {
      const attributes = path.join(temporary, 'attributes');
      writeFileSync(attributes, await lineEndAttributes(patch.paths, here), 'latin1');
      const there = { ...here, config: ['-c', `core.attributesFile=${attributes}`] };
      const onto = 'HEAD of this checkout';
      const conflicts = await applyPatch(patch, [...flags, '--check'], onto, there);
      this.options.signal?.throwIfAborted();
      // Without a signal: an interruption would leave some files changed.
      if (!asked.dryRun) await applyPatch(patch, flags, onto, { ...there, signal: undefined });
      return { ...retrieved(patch), conflicts };
    });
  }

  async hasCommit(root: string, commit: string | null): Promise<boolean> {
    return (await this.commitOf(root, commit)) !== null;
  }

  /** Throws `usage` for a name git refuses, `conflict` for a branch that exists. */
  async checkBranch(root: string, branch: string): Promise<void> {
    const { code } = await git(['check-ref-format', '--branch', branch], this.at(root));
    if (code !== 0)
      throw new AppError('usage', `--branch: git does not accept the name "${branch}"`);
    if ((await revision(`refs/heads/${branch}`, this.at(root))) !== null)
      throw branchExists(branch);
  }

  /** On the commit `base` where the checkout has it, else on HEAD; the checkout stays as it is. */
  async ontoBranch(
    root: string,
    asked: Retrieval & { branch: string; base: string | null; message: string },
  ): Promise<Retrieved> {
    const here = await inRepository(this.at(root));
    const patch = await readPatch(asked.patch, here);
    if (patch.paths.length === 0) return retrieved(patch);
    const parent = (await this.commitOf(root, asked.base)) ?? (await this.commitOf(root, 'HEAD'));
    const onto = parent === null ? 'an empty branch' : `commit ${parent.slice(0, 12)}`;
    return await inTemporaryFolder(TEMPORARY, async (temporary) => {
      const there = { ...here, repositoryEnv: { GIT_INDEX_FILE: path.join(temporary, 'index') } };
      await gitOutput(['read-tree', parent ?? '--empty'], there);
      const flags = ['--cached', ...(asked.threeWay ? ['--3way'] : [])];
      const conflicts = await applyPatch(patch, flags, onto, there);
      if (conflicts.length > 0) {
        const message = `the changes conflict with ${onto} in ${listed(conflicts)}`;
        throw new AppError('conflict', message, {
          hint: 'nothing was changed; merge them into the checkout instead: leave out --branch',
          data: { conflicts },
        });
      }
      if (asked.dryRun) return retrieved(patch);
      const tree = (await gitOutput(['write-tree'], there)).trim();
      const create = ['commit-tree', tree, ...(parent === null ? [] : ['-p', parent]), '-F', '-'];
      const commit = (await gitOutput(create, { ...this.at(root), input: asked.message })).trim();
      const ref = `refs/heads/${asked.branch}`;
      const absent = '0'.repeat(commit.length);
      const update = ['update-ref', '-m', 'acs conv pull', ref, commit, absent];
      if ((await git(update, this.at(root))).code !== 0) throw branchExists(asked.branch);
      return { ...retrieved(patch), commit };
    });
  }

  /** Returns why git did not push the branch to `origin`; null when it did. No hook runs. */
  async push(root: string, branch: string): Promise<string | null> {
    const ref = `refs/heads/${branch}`;
    const flags = ['-q', '-u', '--recurse-submodules=no'];
    const { code, stderr } = await git(
      ['push', ...flags, 'origin', `${ref}:${ref}`],
      this.at(root),
    );
    if (code === 0) return null;
    if (code === null) return 'it took too long';
    const lines = readable(stderr).match(/^(?:fatal: |error: |remote: | ! ).*$/gm);
    return cut(lines?.map((line) => line.trim()).join('; ') ?? `git exited with ${code}`, 500);
  }

  /** Throws `conflict` for a folder that has files, `config` where none can be made. */
  checkFolder(folder: string): void {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats && !stats.isDirectory())
      throw new AppError('conflict', `${folder} is a file`, { hint: 'name a new folder' });
    if (stats && readdirSync(folder).length > 0)
      throw new AppError('conflict', `the folder ${folder} is not empty`, {
        hint: 'name a new or an empty folder',
      });
    if (statSync(path.dirname(folder), { throwIfNoEntry: false })?.isDirectory() !== true)
      throw cannotWrite(folder, NO_FOLDER);
  }

  /** The patch must be one against nothing. */
  async intoFolder(folder: string, asked: Pick<Retrieval, 'patch' | 'dryRun'>): Promise<Retrieved> {
    try {
      const pull = async (temporary: string): Promise<Retrieved> => {
        const files = path.join(temporary, 'files');
        mkdirSync(files);
        const there = await this.newRepository(temporary, files);
        const patch = await readPatch(asked.patch, there);
        if (patch.paths.length > 0) {
          await applyPatch(patch, [], 'an empty folder', there);
          this.options.signal?.throwIfAborted();
          if (!asked.dryRun) renameSync(files, folder);
        }
        return retrieved(patch);
      };
      return await inTemporaryFolder(TEMPORARY, pull, path.dirname(folder));
    } catch (error) {
      if (!(error instanceof Error) || !('syscall' in error)) throw error;
      throw cannotWrite(folder, { reason: error.message, ...UNCHANGED }, error);
    }
  }

  /** The patch from the first to the second. `whole`: a patch against nothing. */
  async between(
    sides: readonly { patch: Uint8Array; whole: Uint8Array; name: string }[],
  ): Promise<{ patch: Uint8Array; submodules: string[] }> {
    return await inTemporaryFolder(TEMPORARY, async (temporary) => {
      const there = await this.newRepository(temporary, temporary);
      const submodules = new Set<string>();
      const apply = async (bytes: Uint8Array, name: string, ...flags: string[]): Promise<void> => {
        const patch = await readPatch(bytes, there);
        for (const each of patch.submodules) submodules.add(each);
        if (patch.paths.length === 0) return;
        const args = ['--cached', ...flags];
        await applyPatch(patch, args, name, there).catch((cause: unknown) => {
          if (!isOfKind('conflict')(cause)) throw cause;
          throw new AppError('conflict', `the workspace of ${name} changed while it was read`, {
            hint: 'repeat the command when the run has ended',
            cause,
          });
        });
      };
      // All files that either has changed, as they were before.
      let before = '';
      for (const { name, patch, whole } of sides) {
        await gitOutput(['read-tree', '--empty'], there);
        await apply(whole, name);
        await apply(patch, name, '--reverse');
        before += await gitOutput(['ls-files', '--stage', '-z'], there);
      }
      const input = Buffer.from(before, 'latin1');
      const trees: string[] = [];
      for (const { name, patch } of sides) {
        await gitOutput(['read-tree', '--empty'], there);
        await gitOutput(['update-index', '-z', '--index-info'], { ...there, input });
        await apply(patch, name);
        trees.push((await gitOutput(['write-tree'], there)).trim());
      }
      const [from, to] = sides.map(({ name }) => `-prefix=${name}/`);
      const flags = '--binary --full-index --no-ext-diff --no-textconv -M -U3'.split(' ');
      const args = ['diff', ...flags, `--src${from}`, `--dst${to}`, ...trees];
      const patch = Buffer.from(await gitOutput(args, there), 'latin1');
      return { patch, submodules: [...submodules] };
    });
  }

  /** An empty one, which converts no file. */
  private async newRepository(temporary: string, files: string): Promise<GitOptions> {
    const repository = path.join(temporary, 'repository');
    await gitOutput(['init', '-q', '--bare', repository], this.at(temporary));
    mkdirSync(path.join(repository, 'info'), { recursive: true });
    writeFileSync(path.join(repository, 'info', 'attributes'), KEEP_BYTES);
    return { ...this.at(files), repositoryEnv: { GIT_DIR: repository, GIT_WORK_TREE: files } };
  }

  private at(cwd: string): GitOptions {
    return { ...this.options, cwd };
  }

  private async commitOf(root: string, name: string | null): Promise<string | null> {
    return name === null ? null : await revision(`${name}^{commit}`, this.at(root));
  }
}

function retrieved({ paths, submodules }: Patch): Retrieved {
  return { files: paths.map(readable), submodules, conflicts: [], commit: null };
}

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Ids of the blobs of the files that differ from HEAD, by path; zeros for a deleted one. */
async function changedBlobs(names: readonly string[], options: GitOptions) {
  const head = (await revision('HEAD', options)) ?? EMPTY_TREE;
  const compare = ['diff-index', '--cached', '--raw', '-z', '--no-renames', head];
  const list = await withIndex(options, head, names, (there) => gitOutput(compare, there));
  const entries = list.matchAll(/:\d+ \d+ \w+ (\w+) \w\0([^\0]*)\0/g);
  return new Map([...entries].map(([, id = '', name = '']) => [name, id]));
}

/** A file that is as the changes expect it may be uncommitted: nothing of it is lost. */
async function refuseUncommitted(
  { paths, preimages }: Patch,
  { threeWay }: Retrieval,
  options: GitOptions,
): Promise<void> {
  const status =
    'status --porcelain -z --no-renames --untracked-files=no --ignore-submodules=dirty';
  const records = (await gitOutput(status.split(' '), options)).split('\0');
  const differing = new Set(records.map((record) => record.slice('XY '.length)));
  const uncommitted = paths.filter((name) => differing.has(name));
  if (uncommitted.length === 0) return;
  const ids = threeWay ? null : await changedBlobs(uncommitted, options);
  const isExpected = (name: string) => {
    const id = ids?.get(name);
    return id !== undefined && (preimages.get(name) ?? id) === id;
  };
  const dirty = uncommitted.filter((name) => !isExpected(name)).map(readable);
  if (dirty.length === 0) return;
  throw new AppError('conflict', `uncommitted changes would be overwritten: ${listed(dirty)}`, {
    hint: 'nothing was changed; commit or stash yours first: git stash -u',
    data: { paths: dirty },
  });
}

/** With `--3way` git knows links of its index only, and would write through any other. */
function refuseLinks(root: string, paths: readonly string[]): void {
  const isLink = (name: string) => {
    const file = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
    return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  };
  const folders = new Set(paths.flatMap(foldersAbove));
  for (const name of paths) folders.delete(name);
  const link = [...folders].find(isLink);
  if (link === undefined) return;
  const message = `${readable(link)} is a symbolic link, and the changes need a folder there`;
  throw new AppError('conflict', message, {
    hint: 'nothing was changed; move the link away',
    data: { paths: [readable(link)] },
  });
}

function foldersAbove(name: string): string[] {
  const folder = path.posix.dirname(name);
  return folder === '.' || folder === '/' ? [] : [folder, ...foldersAbove(folder)];
}

function branchExists(branch: string): AppError {
  return new AppError('conflict', `the branch ${branch} exists`, {
    hint: 'give another name; nothing was changed',
  });
}
