import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError, fileProblem } from '../../base/errors.ts';
import type { CheckoutProof } from '../../domain/new-conversation.ts';
import { git, inRepository, revision, type GitOptions } from './git.ts';
import { parseRemoteUrl } from './remote-url.ts';

export { parseRepository, type RepositoryChoice } from './remote-url.ts';

export interface Checkout {
  root: string;
  /** Null with a detached HEAD. */
  branch: string | null;
  head: string | null;
  /** Null without a remote `origin`. The URL has no credentials. */
  origin: {
    url: string;
    host: string | null;
    repository: string | null;
    git_provider: string | null;
  } | null;
  /** Null when git cannot determine them. */
  unpushed: number | null;
  /** Untracked files count; files of Git LFS, and changes in submodules, do not. */
  dirty: boolean;
  /** Their folders. */
  submodules: string[];
}

export type CheckoutOptions = Omit<GitOptions, 'cwd'>;

/** Null when there is none. Throws `config` without git, and where git refuses the owner. */
export async function readCheckout(
  dir: string,
  options: CheckoutOptions,
): Promise<Checkout | null> {
  const root = await topFolder(dir, options);
  if (root === null) return null;
  const ask = await inRepository({ ...options, cwd: root });
  const [status, origin] = await Promise.all([readStatus(ask), readOrigin(ask)]);
  const { upstream, branch, head, dirty } = status;
  let unpushed = head === null ? null : upstream;
  if (head !== null && upstream === null && origin !== null) {
    // Commits that no branch of origin has, as of the last fetch.
    const { code, stdout } = await git(
      ['rev-list', '--count', 'HEAD', '--not', '--remotes=origin'],
      ask,
    );
    if (code === 0) unpushed = Number(stdout.trim());
  }
  return { root, branch, head, origin, unpushed, dirty, submodules: await readSubmodules(ask) };
}

async function readSubmodules(options: GitOptions): Promise<string[]> {
  if (!existsSync(path.join(options.cwd, '.gitmodules'))) return [];
  const { stdout } = await git(
    ['config', '-z', '-f', '.gitmodules', '--get-regexp', String.raw`\.path$`],
    options,
  );
  return [...stdout.matchAll(/\n([^\0]*)\0/g)].map(([, folder = '']) => folder);
}

/** Newest commit first. */
export async function localBranches(options: GitOptions): Promise<string[]> {
  const refs = ['refs/heads', 'refs/remotes/origin'];
  const sorted = ['--sort=-committerdate', '--format=%(refname)'];
  const { stdout } = await git(['for-each-ref', ...sorted, ...refs], options);
  const names = stdout
    .split('\n')
    .map((ref) => ref.replace(/^refs\/(heads|remotes\/origin)\//, ''));
  return [...new Set(names)].filter((name) => name !== '' && name !== 'HEAD');
}

export type BranchOnRemote = { state: 'present' | 'absent' } | { state: 'unknown'; reason: string };

/** Unknown when the remote is silent. With the name of a remote git uses its credentials. */
export async function branchOnRemote(
  remote: string,
  branch: string,
  options: GitOptions,
): Promise<BranchOnRemote> {
  const ref = `refs/heads/${branch}`;
  const asked = await git(['ls-remote', '--heads', '--', remote, ref], {
    timeoutMs: 15_000,
    ...options,
  });
  if (asked.code === null) return { state: 'unknown', reason: 'the remote did not answer in time' };
  if (asked.code !== 0)
    return {
      state: 'unknown',
      reason: asked.stderr.split('\n').at(-1) ?? `git exited with code ${asked.code}`,
    };
  // A pattern also matches the ends of longer names.
  const found = asked.stdout.split('\n').some((line) => line.split('\t')[1] === ref);
  return { state: found ? 'present' : 'absent' };
}

async function topFolder(dir: string, options: CheckoutOptions): Promise<string | null> {
  let answer;
  try {
    answer = await git(['rev-parse', '--show-toplevel'], { ...options, cwd: dir });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const marked = existsSync(dir) ? markedFolder(path.resolve(dir)) : null;
    if (marked === null) return null;
    throw new AppError('config', `${marked} is a git checkout, but git is not installed`, {
      hint: 'install git, or add its folder to PATH',
      data: { program: 'git' },
      cause: error,
    });
  }
  if (/dubious ownership/.test(answer.stderr)) {
    throw new AppError(
      'config',
      `git does not trust the repository at ${dir}: it belongs to another user`,
      {
        hint: `git config --global --add safe.directory ${path.resolve(dir)}`,
      },
    );
  }
  const root = answer.stdout.replace(/\r?\n$/, '');
  return answer.code === 0 && root !== '' ? root : null;
}

function markedFolder(dir: string): string | null {
  if (existsSync(path.join(dir, '.git'))) return dir;
  const above = path.dirname(dir);
  return above === dir ? null : markedFolder(above);
}

/** `upstream`: the commits that it lacks; null without one. */
async function readStatus(options: GitOptions) {
  // Of a submodule git would run the filters; without its filter a file of Git LFS is unknown.
  const status =
    'status --porcelain=v2 --branch --ignore-submodules=dirty -z -- :(exclude,attr:filter=lfs)';
  const { code, stdout, stderr } = await git(status.split(' '), options);
  if (code !== 0) {
    throw new AppError(
      'config',
      `git cannot read the checkout ${options.cwd}: ${code === null ? 'it took too long' : stderr}`,
    );
  }
  const records = stdout.split('\0').filter((record) => record !== '');
  const header = (name: string) =>
    records.find((record) => record.startsWith(`# ${name} `))?.slice(name.length + 3) ?? null;
  const head = header('branch.oid');
  const branch = header('branch.head');
  const ahead = /^\+(\d+) /.exec(header('branch.ab') ?? '')?.[1];
  return {
    branch: branch === '(detached)' ? null : branch,
    head: head === '(initial)' ? null : head,
    dirty: records.some((record) => !record.startsWith('# ')),
    upstream: ahead === undefined ? null : Number(ahead),
  };
}

async function readOrigin(options: GitOptions): Promise<Checkout['origin']> {
  const { code, stdout } = await git(['remote', 'get-url', 'origin'], options);
  const text = stdout.replace(/\r?\n$/, '');
  if (code !== 0 || text === '') return null;
  const parsed = parseRemoteUrl(text);
  if (parsed === null) return null;
  // A relative path is relative to the top folder, not to where the command runs.
  const isPath = parsed.host === null && !parsed.url.startsWith('file://');
  return isPath ? { ...parsed, url: path.resolve(options.cwd, parsed.url) } : parsed;
}

/** In a worktree `.git` is a file: its own folder below that of the repository is used. */
export async function writeProof(options: GitOptions): Promise<CheckoutProof> {
  const { stdout } = await git(['rev-parse', '--absolute-git-dir'], options);
  const folder = stdout.replace(/\n$/, '');
  const text = randomUUID();
  const file = path.join(folder, `acs-${text}`);
  const remove = () => rm(file, { force: true });
  try {
    await writeFile(file, text, { flag: 'wx' });
    return { file, text, problem: null, remove };
  } catch (error) {
    const problem = `acs cannot write to ${folder} (${fileProblem(error).reason})`;
    await remove().catch(() => undefined);
    return { file: null, text, problem, remove };
  }
}

/** The commit of a branch of the checkout, or of its remote as last fetched; null for neither. */
export async function branchCommit(branch: string, options: GitOptions): Promise<string | null> {
  for (const folder of ['refs/heads', 'refs/remotes/origin']) {
    const commit = await revision(`${folder}/${branch}^{commit}`, options);
    if (commit !== null) return commit;
  }
  return null;
}
