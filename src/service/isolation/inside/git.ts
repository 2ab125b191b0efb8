/**
 * The changes in a workspace by git. The agent controls the repository: its configuration must not make git run
 * programs.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SANDBOX_MARKER } from '../processes.ts';
import type { GitChange } from '../protocol.ts';
import { OperationError } from './failure.ts';
import { regularFile } from './files.ts';
import { inGroups } from './groups.ts';
import { prefixOf } from './scratch.ts';

const LARGEST_ANSWER = 64 * 1024 * 1024;
const LARGEST_DIFFED_FILE = 5 * 1024 * 1024;
const HARMLESS = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'core.quotePath=false'];
const STATUS: Record<string, GitChange['status']> = { A: 'ADDED', D: 'DELETED', R: 'MOVED' };

/**
 * Files that differ from a commit: from `ref`, else from what the remote has of this branch, else from nothing. New
 * files that git does not ignore are among them. Paths are relative to `folder`. Not a repository: those right below it.
 */
export async function gitChanges(workingDir: string, folder: string, ref: string | null): Promise<GitChange[]> {
  const absolute = path.resolve(workingDir, folder);
  if (await isRepository(absolute)) return sorted(await changesOf(absolute, ref));
  const entries = await readdir(absolute, { withFileTypes: true }).catch(() => []);
  const found: GitChange[] = [];
  for (const entry of entries) {
    const below = path.join(absolute, entry.name);
    if (!entry.isDirectory() || !existsSync(path.join(below, '.git'))) continue;
    found.push(...prefixed(await changesOf(below, ref), entry.name));
  }
  return sorted(found);
}

/** Both sides of one file, each without its last line end as genuine servers give them; null where unknown. */
export async function gitDiff(
  workingDir: string,
  file: string,
  ref: string | null,
): Promise<{ original: string | null; modified: string | null }> {
  const absolute = path.resolve(workingDir, file);
  const folder = nearestFolder(path.dirname(absolute));
  const modified = await textOf(absolute);
  const name = path.relative(folder, absolute);
  const base = await basesOf(JSON.stringify([folder, ref]), name);
  if (base === null) {
    if (modified === null) throw new OperationError('not-found', `File does not exist: ${absolute}`);
    return { original: null, modified: null };
  }
  const blob = base.files.has(name) ? await git(folder, ['cat-file', 'blob', `${base.commit}:./${name}`]) : null;
  const original = blob?.code === 0 ? blob.stdout : null;
  if (modified === null && original === null) {
    throw new OperationError('not-found', `File does not exist: ${absolute}`);
  }
  return { original: withoutLastLineEnd(original ?? ''), modified: withoutLastLineEnd(modified ?? '') };
}

interface Base {
  commit: string | null;
  /** The requested files that it has. */
  files: ReadonlySet<string>;
}

/**
 * What to compare files of one folder with; null where no repository is. A client compares many files at a time: they
 * share the processes that it takes to find that.
 */
const basesOf = inGroups(async (key: string, names: readonly string[]): Promise<Base | null> => {
  const [folder, ref] = JSON.parse(key) as [string, string | null];
  if (!(await isRepository(folder))) return null;
  const commit = await baseOf(folder, ref);
  if (commit === null) return { commit, files: new Set() };
  const listed = await succeed(folder, ['ls-tree', '-z', '--name-only', commit, '--', ...names], LITERAL_PATHS);
  return { commit, files: new Set(listed.split('\0')) };
});

const LITERAL_PATHS = { GIT_LITERAL_PATHSPECS: '1' };

/** They override the configuration of the repository, with which the patch could be one that git does not apply. */
const AS_PATCH = [
  ...['--binary', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames'],
  ...['-O/dev/null', '--src-prefix=a/', '--dst-prefix=b/', '-U3', '--inter-hunk-context=0', '--submodule=short'],
];

/** One patch of everything that differs from a commit (as in gitChanges), binary files and modes included. */
export async function gitDelta(workingDir: string, folder: string, ref: string | null): Promise<string> {
  const absolute = path.resolve(workingDir, folder);
  if (!(await isRepository(absolute))) throw new OperationError('invalid', `Not a git repository: ${absolute}`);
  const base = await treeOf(absolute, ref);
  // New files enter a patch by way of an index; the repository's own is left as it is.
  const scratch = await mkdtemp(path.join(tmpdir(), prefixOf(process.env[SANDBOX_MARKER] ?? '')));
  try {
    const env = { GIT_INDEX_FILE: path.join(scratch, 'index') };
    await succeed(absolute, ['read-tree', base], env);
    await succeed(absolute, ['-c', 'core.safecrlf=false', 'add', '--all', '--', '.'], env);
    return await succeed(absolute, ['diff', '--cached', ...AS_PATCH, base, '--', '.'], env);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function changesOf(repository: string, ref: string | null): Promise<GitChange[]> {
  const base = await treeOf(repository, ref);
  const diff = [
    'diff',
    '--name-status',
    '-z',
    '--no-renames',
    '--no-ext-diff',
    '-O/dev/null',
    '--relative',
    base,
    '--',
    '.',
  ];
  const fields = (await succeed(repository, diff)).split('\0');
  const changes: GitChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [letter = '', file = ''] = [fields[index], fields[index + 1]];
    changes.push({ status: STATUS[letter.charAt(0)] ?? 'UPDATED', path: file });
  }
  const others = await succeed(repository, ['ls-files', '--others', '--exclude-standard', '-z', '--', '.']);
  for (const file of others.split('\0').filter((name) => name !== '')) {
    if (!file.endsWith('/')) changes.push({ status: 'ADDED', path: file });
    else if (existsSync(path.join(repository, file, '.git'))) {
      changes.push(...prefixed(await changesOf(path.join(repository, file), ref), file.slice(0, -1)));
    }
  }
  return changes;
}

/**
 * The commit to compare with; null: nothing, so that every file is new. Throws `invalid` when `ref` is not known.
 * A diff of many files calls it for each file: as few processes as possible.
 */
async function baseOf(repository: string, ref: string | null): Promise<string | null> {
  if (ref !== null) {
    const known = ref.startsWith('-') ? null : await resolved(repository, ref);
    if (known !== null || ref === 'HEAD') return known;
    throw new OperationError('invalid', `Unknown ref: ${ref}`);
  }
  const branch = await branchOf(repository);
  const [pushed, main] = [`refs/remotes/origin/${branch}`, 'refs/remotes/origin/HEAD'];
  const wanted = branch === null ? [main] : [pushed, main];
  const listed = await succeed(repository, ['for-each-ref', '--format=%(refname) %(objectname)', ...wanted]);
  const refs = new Map(listed.split('\n').map((line) => line.split(' ') as [string, string]));
  const remote = refs.get(pushed) ?? refs.get(main) ?? null;
  if (remote === null || refs.has(pushed)) return remote;
  const shared = await git(repository, ['merge-base', 'HEAD', remote]);
  return shared.code === 0 ? shared.stdout.trim() : remote;
}

/** Null where HEAD is detached. */
async function branchOf(repository: string): Promise<string | null> {
  const name = (await git(repository, ['symbolic-ref', '--short', '-q', 'HEAD'])).stdout.trim();
  return name === '' ? null : name;
}

async function resolved(repository: string, ref: string): Promise<string | null> {
  const { code, stdout } = await git(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return code === 0 ? stdout.trim() : null;
}

/** The argument for git, which does not accept null. */
async function treeOf(repository: string, ref: string | null): Promise<string> {
  return (await baseOf(repository, ref)) ?? (await emptyTree(repository));
}

async function emptyTree(repository: string): Promise<string> {
  return (await succeed(repository, ['hash-object', '-t', 'tree', '/dev/null'])).trim();
}

async function isRepository(folder: string): Promise<boolean> {
  const { code, stdout } = await git(folder, ['rev-parse', '--is-inside-work-tree']);
  return code === 0 && stdout.trim() === 'true';
}

function nearestFolder(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  return nearest;
}

async function textOf(file: string): Promise<string | null> {
  try {
    const { size } = await regularFile(file);
    if (size > LARGEST_DIFFED_FILE) throw new OperationError('too-large', `File is too large to compare: ${file}`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not-found') return null;
    throw error;
  }
}

function withoutLastLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function prefixed(changes: GitChange[], folder: string): GitChange[] {
  return changes.map((change) => ({ ...change, path: `${folder}/${change.path}` }));
}

function sorted(changes: GitChange[]): GitChange[] {
  return changes.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

async function succeed(cwd: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await git(cwd, args, env);
  if (code === 0) return stdout;
  throw new OperationError('invalid', `git ${args[0] ?? ''}: ${stderr.trim().slice(0, 500)}`);
}

function git(
  cwd: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = {
      cwd,
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', ...env },
      maxBuffer: LARGEST_ANSWER,
      encoding: 'utf8' as const,
    };
    execFile('git', [...HARMLESS, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}
