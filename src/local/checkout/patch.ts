/** What git reads and applies of a patch. Of a path each byte is one character, as in latin1. */
import { AppError } from '../../base/errors.ts';
import { unquotePath } from '../../domain/patch.ts';
import { git, type GitOptions } from './git.ts';

export const UNCHANGED = { hint: 'nothing was changed' };

export interface Patch {
  /** Without the changes of submodules. */
  input: Buffer;
  paths: string[];
  /** Ids of the blobs that the changes are for, by path; zeros for a new file. */
  preimages: Map<string, string>;
  submodules: string[];
}

/** Throws `config` when git fails. */
export async function gitOutput(args: readonly string[], options: GitOptions): Promise<string> {
  const { code, stdout, stderr } = await git(args, options);
  if (code === 0) return stdout;
  const reason = code === null ? 'it took too long' : stderr;
  const command = args.find((word) => /^[a-z][a-z-]+$/.test(word));
  throw new AppError('config', `git ${command} failed: ${reason}`, UNCHANGED);
}

export async function readPatch(bytes: Uint8Array, options: GitOptions): Promise<Patch> {
  // Only a header begins with this: git marks each line of content.
  const parts = Buffer.from(bytes)
    .toString('latin1')
    .split(/^(?=diff --git )/m);
  const isSubmodule = (part: string) =>
    /^(?:index .*|.* mode) 160000$/m.test(part.split(/^@@ /m, 1)[0] ?? '');
  const submodules = parts.filter(isSubmodule).map((part) => {
    const [, name = ''] = / ("?b\/.*)$/m.exec(part) ?? [];
    return readable(unquoted(name).slice('b/'.length));
  });
  const text = parts.filter((part) => !isSubmodule(part)).join('');
  const input = Buffer.from(text, 'latin1');
  const preimages = new Map(parts.flatMap(preimageOf));
  if (text === '') return { input, paths: [], preimages, submodules };
  const numbers = await gitOutput(['apply', '--numstat', '-z'], { ...options, input });
  const changed = numbers.split('\0').slice(0, -1);
  const renamed = [...text.matchAll(/^rename from (.*)$/gm)].map(([, name = '']) => unquoted(name));
  const paths = new Set([
    ...changed.map((record) => record.replace(/^\S+\t\S+\t/, '')),
    ...renamed,
  ]);
  return { input, paths: [...paths].sort(), preimages, submodules };
}

/** None of a change of the mode or name alone. */
function preimageOf(part: string): [string, string][] {
  const [header = ''] = part.split(/^@@ |^GIT binary/m, 1);
  const [, id] = /^index ([0-9a-f]+)\.\./m.exec(header) ?? [];
  if (id === undefined) return [];
  const [, renamed] = /^rename from (.*)$/m.exec(header) ?? [];
  // Without a rename both names are the same.
  const [, names = ''] = /^diff --git (.*)$/m.exec(header) ?? [];
  const first = unquoted(names.slice(0, (names.length - 1) / 2)).slice('a/'.length);
  return [[renamed === undefined ? first : unquoted(renamed), id]];
}

/** The files with conflicts. `args`: of `git apply`; `onto`: the place that errors name. */
export async function applyPatch(
  { input }: Patch,
  args: readonly string[],
  onto: string,
  options: GitOptions & { config?: readonly string[] },
): Promise<string[]> {
  const { config = [], ...rest } = options;
  const { code, stderr } = await git([...config, 'apply', ...args], { ...rest, input });
  // A merge with conflicts fails and prints `U <path>`; a check of one succeeds.
  if (code !== 0 && !/^U /m.test(stderr))
    throw applyError(stderr, onto, args.includes('--3way') ? '3way' : 'whole');
  return matches(stderr, /^Applied patch to '(.*)' with conflicts\.$/gm);
}

function applyError(stderr: string, onto: string, merge: '3way' | 'whole'): AppError {
  const errors = matches(stderr, /^(?:error|fatal): (.*)$/gm);
  const reason = errors[0] ?? readable(stderr);
  if (/invalid path|beyond a symbolic link/.test(stderr)) {
    const message = `the changes name a path that leaves the checkout: ${reason}`;
    return new AppError('server', message, UNCHANGED);
  }
  if (/index\.lock': File exists/.test(stderr))
    return new AppError('conflict', `another git process uses this checkout: ${reason}`, {
      hint: 'nothing was changed; wait for it, or remove the file when no git runs',
      retryable: true,
    });
  if (/No space left|unable to (write|create)|Disk quota|File too large/i.test(stderr))
    return new AppError('config', `git could not write the changed files: ${reason}`, {
      hint: 'files may be incomplete; list them: git status',
    });
  const existing = matches(
    stderr,
    /^error: (.*): already exists in (?:working directory|index)$/gm,
  );
  if (existing.length > 0)
    return new AppError(
      'conflict',
      `the changes add files that exist already: ${listed(existing)}`,
      {
        hint: 'nothing was changed; move yours away, or write the files to a folder: -o <dir>',
        data: { paths: existing },
      },
    );
  const hint =
    merge === '3way'
      ? 'nothing was changed; write the changed files to a folder: -o <dir>'
      : 'nothing was changed; merge them: --3way, commit them on a branch: --branch <name>, or ' +
        'write files: -o <dir>';
  return new AppError('conflict', `the changes do not apply to ${onto}: ${reason}`, {
    hint,
    data: errors.length > 1 ? { errors: errors.slice(0, 50) } : {},
  });
}

/**
 * Attributes of the files that the checkout has with CRLF and its commit with LF, and of new files
 * where it has others so: the files show how it converts, also where the configuration was changed
 * since. Attributes of the repository take precedence.
 */
export async function lineEndAttributes(
  paths: readonly string[],
  options: GitOptions,
): Promise<string> {
  // A command line has no room for more.
  const touched = paths.slice(0, 1000).map((name) => `:(literal)${readable(name)}`);
  const list = ['ls-files', '--eol', '-z', '--', ':(glob)*', ...touched];
  const { stdout } = await git(list, options);
  const records = stdout.matchAll(/(i\/lf +w\/crlf +attr\/(?![^\t]*eol=))?[^\t]*\t([^\0]*)\0/g);
  const isCrlf = new Map([...records].map(([, crlf, name = '']) => [name, crlf !== undefined]));
  const ofNew = [...isCrlf.values()].includes(true);
  return paths
    .filter((name) => isCrlf.get(name) ?? ofNew)
    .map((name) => JSON.stringify(`/${name.replace(/[*?[\\]/g, '\\$&')}`))
    .map((pattern) => `${pattern} text=auto eol=crlf\n`)
    .join('');
}

export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more files` : shown;
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => readable(name));
}

function unquoted(name: string): string {
  return name.startsWith('"') ? Buffer.from(unquotePath(name)).toString('latin1') : name;
}
