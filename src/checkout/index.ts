/**
 * The git checkout a command runs in: what it is, where it comes from, and what a remote has. It is read with the user's
 * own git, so that worktrees, `insteadOf` and credential helpers mean what they mean elsewhere.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { git, type GitOptions } from './git.ts';
import { parseRemoteUrl } from './remote-url.ts';

export { parseRepository, type RepositoryChoice } from './remote-url.ts';

/** The facts about the git checkout that acs runs in. */
export interface Checkout {
  /** Top folder. */
  root: string;
  /** Current branch; null with a detached HEAD. */
  branch: string | null;
  head: string | null;
  /** Remote `origin`; null without one. The URL without credentials. */
  origin: { url: string; host: string | null; repository: string | null; git_provider: string | null } | null;
  /** Commits that are not on the upstream; null when git cannot determine them. */
  unpushed: number | null;
  /** Whether tracked or untracked files differ from HEAD. */
  dirty: boolean;
}

export type CheckoutOptions = Omit<GitOptions, 'cwd'>;

/**
 * Reads the checkout that holds `dir`; null when there is none (no repository, or a bare one).
 * Throws `config` when there is one that git refuses because of its owner, or no git to read it (`data.program`): to go
 * on without it would start elsewhere.
 */
export async function readCheckout(dir: string, options: CheckoutOptions): Promise<Checkout | null> {
  const root = await topFolder(dir, options);
  if (root === null) return null;
  const ask = { ...options, cwd: root };
  const [status, origin] = await Promise.all([readStatus(ask), readOrigin(ask)]);
  const { upstream, ...rest } = status;
  const unpushed = rest.head === null ? null : (upstream ?? (origin ? await countUnpushed(ask) : null));
  return { root, branch: rest.branch, head: rest.head, origin, unpushed, dirty: rest.dirty };
}

export type BranchOnRemote = { state: 'present' | 'absent' } | { state: 'unknown'; reason: string };

/**
 * Whether a remote has a branch. Unknown when it does not answer: no network, no access, no answer in time.
 * @param remote a URL or path; for the checkout's own remote its name, so that its credentials are used
 * @param options.cwd the checkout, for a remote's name; any folder otherwise
 */
export async function branchOnRemote(remote: string, branch: string, options: GitOptions): Promise<BranchOnRemote> {
  const ref = `refs/heads/${branch}`;
  const asked = await git(['ls-remote', '--heads', '--', remote, ref], { timeoutMs: 15_000, ...options });
  if (asked.code === null) return { state: 'unknown', reason: 'the remote did not answer in time' };
  if (asked.code !== 0)
    return { state: 'unknown', reason: asked.stderr.split('\n').at(-1) ?? `git exited with code ${asked.code}` };
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
      hint: 'install git, or give --repo owner/name --branch <name>, or --no-repo',
      data: { program: 'git' },
      cause: error,
    });
  }
  if (/dubious ownership/.test(answer.stderr)) {
    throw new AppError('config', `git does not trust the repository at ${dir}: it belongs to another user`, {
      hint: `git config --global --add safe.directory ${path.resolve(dir)}`,
    });
  }
  const root = answer.stdout.replace(/\r?\n$/, '');
  return answer.code === 0 && root !== '' ? root : null;
}

/** The nearest folder with a `.git` in it, `dir` or above. */
function markedFolder(dir: string): string | null {
  if (existsSync(path.join(dir, '.git'))) return dir;
  const above = path.dirname(dir);
  return above === dir ? null : markedFolder(above);
}

interface Status {
  branch: string | null;
  head: string | null;
  dirty: boolean;
  /** Commits ahead of the upstream; null without one. */
  upstream: number | null;
}

async function readStatus(options: GitOptions): Promise<Status> {
  const { code, stdout, stderr } = await git(['status', '--porcelain=v2', '--branch', '-z'], options);
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

/** Without an upstream: what no branch of origin has, as of the last fetch. */
async function countUnpushed(options: GitOptions): Promise<number | null> {
  const { code, stdout } = await git(['rev-list', '--count', 'HEAD', '--not', '--remotes=origin'], options);
  return code === 0 ? Number(stdout.trim()) : null;
}
