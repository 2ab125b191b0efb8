/**
 * The files of a checkout as a commit that no branch has. The index, the files and the branches of
 * the user stay as they are. Of a path each byte is one character, as in latin1.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { inTemporaryFolder } from '../../base/temporary-folder.ts';
import type { CheckoutChanges, CloneState } from '../../domain/new-conversation.ts';
import type { Checkout } from './index.ts';
import { git, inRepository, type GitOptions } from './git.ts';
import { gitOutput } from './patch.ts';

export interface UncommittedFile {
  name: string;
  /** Null: deleted, or a nested repository, whose name ends with a slash. */
  bytes: number | null;
  isTracked: boolean;
}

const AUTHOR = ['-c', 'user.name=acs', '-c', 'user.email=acs@localhost'];
const WHOLE = { timeoutMs: 600_000, encoding: 'latin1' } as const;

/** Without submodules, and files of Git LFS. */
export async function listUncommitted(
  root: string,
  options: Omit<GitOptions, 'cwd'>,
): Promise<UncommittedFile[]> {
  const status =
    'status --porcelain -z --no-renames --untracked-files=all --ignore-submodules=all -- ' +
    ':(exclude,attr:filter=lfs)';
  const here = await inRepository({ ...options, ...WHOLE, cwd: root });
  const records = (await gitOutput(status.split(' '), here)).split('\0').slice(0, -1);
  const read = async (record: string) => {
    const name = record.slice('XY '.length);
    const file = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
    const stats = await lstat(file).catch(() => null);
    const bytes = stats === null || stats.isDirectory() ? null : stats.size;
    return { name, bytes, isTracked: !record.startsWith('?') };
  };
  return await Promise.all(records.map(read));
}

/** Null: there is nothing. Throws `config` when git fails. */
export async function snapshot(
  { root, head, branch }: Pick<Checkout, 'root' | 'head' | 'branch'>,
  names: readonly string[],
  options: Omit<GitOptions, 'cwd'>,
): Promise<CheckoutChanges | null> {
  if (head === null && names.length === 0) return null;
  const here = await inRepository({ ...options, ...WHOLE, cwd: root });
  const changesOf = (commit: string): CheckoutChanges => {
    let roots: Promise<string[]> | null = null;
    const readRoots = () => (roots ??= rootsOf(commit, here));
    const pack = async (clone: CloneState) => packOf(commit, await readRoots(), clone, here);
    return { head, branch, commit, roots: readRoots, pack };
  };
  const tree = await withIndex(here, head, names, (there) => gitOutput(['write-tree'], there));
  const ofHead = head === null ? '' : await gitOutput(['rev-parse', `${head}^{tree}`], here);
  if (head !== null && tree === ofHead) return changesOf(head);
  const parents = head === null ? [] : ['-p', head];
  const create = ['commit-tree', tree.trim(), ...parents, '-m', 'Changes of the checkout'];
  return changesOf((await gitOutput([...AUTHOR, ...create], here)).trim());
}

async function rootsOf(commit: string, here: GitOptions): Promise<string[]> {
  const list = await gitOutput(['rev-list', '--boundary', commit, '--not', '--remotes'], here);
  const boundary = [...list.matchAll(/^-(.+)$/gm)].map(([, root = '']) => root);
  const file = (await gitOutput(['rev-parse', '--git-path', 'shallow'], here)).trim();
  const shallow = await readFile(path.resolve(here.cwd, file), 'utf8').catch(() => '');
  return [...(list === '' ? [commit] : boundary), ...shallow.split('\n').filter(Boolean)];
}

/** To git the repository is what the clone has, and roots have no parents. */
async function packOf(
  commit: string,
  roots: readonly string[],
  { has, head, shallow }: CloneState,
  here: GitOptions,
): ReturnType<CheckoutChanges['pack']> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'acs-pack-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const find = ['cat-file', '-e', `${head}^{commit}`];
    const isHead = head !== undefined && (await git(find, here)).code === 0;
    const without = [...shallow, ...roots.filter((root) => !has.includes(root))];
    const revisions = [
      ...without.map((root) => `--shallow ${root}`),
      commit,
      ...[...has, ...(isHead ? [head] : [])].map((known) => `^${known}`),
    ];
    const input = `${revisions.join('\n')}\n`;
    // Git renames the pack within the file system of the object store.
    const objects = (await gitOutput(['rev-parse', '--git-path', 'objects'], here)).trim();
    for (const name of ['info', 'pack']) mkdirSync(path.join(folder, name));
    const alternates = path.join(folder, 'info', 'alternates');
    writeFileSync(alternates, `${path.resolve(here.cwd, objects)}\n`);
    const there = { ...here, input, repositoryEnv: { GIT_OBJECT_DIRECTORY: folder } };
    const create = ['pack-objects', '-q', '--revs', '--delta-base-offset', '--max-pack-size=0'];
    const name = await gitOutput([...create, path.join(folder, 'pack', 'pack')], there);
    const file = path.join(folder, 'pack', `pack-${name.trim()}.pack`);
    return { path: file, bytes: statSync(file).size, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** With an index of the files of `head`, and of `names` as they are in the checkout. */
export async function withIndex<T>(
  options: GitOptions,
  head: string | null,
  names: readonly string[],
  use: (there: GitOptions) => Promise<T>,
): Promise<T> {
  return await inTemporaryFolder('acs-index-', async (folder) => {
    const there = { ...options, repositoryEnv: { GIT_INDEX_FILE: path.join(folder, 'index') } };
    await gitOutput(['read-tree', head ?? '--empty'], there);
    const input = Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
    const update = 'update-index -z --add --remove --replace --stdin'.split(' ');
    // The setting of the user: the last two values are those of acs itself.
    const { stdout } = await git(['config', '--get-all', 'core.autocrlf'], options);
    const lineEnds = stdout.trim().split('\n').at(-3) ?? 'false';
    const converting = ['-c', `core.autocrlf=${lineEnds}`];
    await gitOutput([...converting, ...update], { ...there, input });
    return await use(there);
  });
}
