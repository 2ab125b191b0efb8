/**
 * `git apply` changes all files or none, and refuses paths that lead outside, into `.git` or
 * through a link.
 */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AppError } from '../../base/errors.ts';
import { unquotePath } from '../../domain/patch.ts';
import { git, inRepository, type GitOptions } from './git.ts';

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

export interface Retriever {
  /**
   * Throws `conflict` when changes of the user would be overwritten, or the patch does not apply.
   */
  intoCheckout(root: string, asked: Retrieval): Promise<Retrieved>;
  hasCommit(root: string, commit: string): Promise<boolean>;
  /** Throws `usage` for a name git refuses, `conflict` for a branch that exists. */
  checkBranch(root: string, branch: string): Promise<void>;
  /** On the commit `base` where the checkout has it, else on HEAD; the checkout stays as it is. */
  ontoBranch(
    root: string,
    asked: Retrieval & { branch: string; base: string | null; message: string },
  ): Promise<Retrieved>;
  /** Throws `conflict` for a folder that has files, `config` where none can be made. */
  checkFolder(folder: string): void;
  /** The patch must be one against nothing. */
  intoFolder(folder: string, asked: Pick<Retrieval, 'patch' | 'dryRun'>): Promise<Retrieved>;
}

/** Neither settings of the user nor attributes of the patch convert files. */
const KEEP_BYTES = '* -text !eol -ident -filter -working-tree-encoding\n';

const UNCHANGED = { hint: 'nothing was changed' };

export function createRetriever(options: Pick<GitOptions, 'env' | 'signal'>): Retriever {
  const run = (args: readonly string[], more: Partial<GitOptions> & { cwd: string }) =>
    git(args, { ...options, timeoutMs: 600_000, encoding: 'latin1', ...more });

  async function must(args: readonly string[], more: Parameters<typeof run>[1]): Promise<string> {
    const { code, stdout, stderr } = await run(args, more);
    if (code === 0) return stdout;
    throw new AppError(
      'config',
      `git ${args[0] ?? ''} failed: ${code === null ? 'it took too long' : stderr}`,
      UNCHANGED,
    );
  }

  async function apply(
    flags: readonly string[],
    onto: string,
    more: Parameters<typeof run>[1] & { input: Uint8Array; config?: readonly string[] },
  ): Promise<string[]> {
    const { code, stderr } = await run([...(more.config ?? []), 'apply', ...flags], more);
    const found = (pattern: RegExp) =>
      [...stderr.matchAll(pattern)].map(([, name = '']) => readable(name));
    // A merge with conflicts fails and prints `U <path>`; a check of one succeeds.
    if (code === 0 || /^U /m.test(stderr))
      return found(/^Applied patch to '(.*)' with conflicts\.$/gm);
    const errors = found(/^(?:error|fatal): (.*)$/gm);
    const reason = errors[0] ?? readable(stderr);
    if (/invalid path|beyond a symbolic link/.test(stderr))
      throw new AppError(
        'server',
        `the changes name a path that leaves the checkout: ${reason}`,
        UNCHANGED,
      );
    if (/index\.lock': File exists/.test(stderr)) {
      throw new AppError('conflict', `another git process uses this checkout: ${reason}`, {
        hint: 'nothing was changed; wait for it, or remove the file when no git runs',
        retryable: true,
      });
    }
    if (/No space left|unable to (write|create)|Disk quota|File too large/i.test(stderr)) {
      throw new AppError('config', `git could not write the changed files: ${reason}`, {
        hint: 'files may be incomplete; list them: git status',
      });
    }
    const existing = found(/^error: (.*): already exists in (?:working directory|index)$/gm);
    if (existing.length > 0) {
      throw new AppError(
        'conflict',
        `the changes add files that exist already: ${listed(existing)}`,
        {
          hint: 'nothing was changed; move yours away, or write the files to a folder: -o <dir>',
          data: { paths: existing },
        },
      );
    }
    throw new AppError('conflict', `the changes do not apply to ${onto}: ${reason}`, {
      hint: flags.includes('--3way')
        ? 'nothing was changed; write the changed files to a folder: -o <dir>'
        : 'nothing was changed; merge them: --3way, commit them on a branch: --branch ' +
          '<name>, or write files: -o <dir>',
      ...(errors.length > 1 ? { data: { errors: errors.slice(0, 50) } } : {}),
    });
  }

  async function commitOf(root: string, name: string) {
    const { code, stdout } = await run(['rev-parse', '--verify', '--quiet', `${name}^{commit}`], {
      cwd: root,
    });
    return code === 0 ? stdout.trim() : null;
  }

  /** Each byte of `paths` is one character. */
  async function read(
    patch: Uint8Array,
    where: Parameters<typeof run>[1],
  ): Promise<{ input: Buffer; paths: string[]; retrieved: Retrieved }> {
    // Only a header begins with this: git marks each line of content.
    const parts = Buffer.from(patch)
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
    const records =
      text === '' ? '' : await must(['apply', '--numstat', '-z'], { ...where, input });
    const names = records.split('\0').slice(0, -1);
    const renamed = [...text.matchAll(/^rename from (.*)$/gm)].map(([, name = '']) =>
      unquoted(name),
    );
    const paths = [
      ...new Set([...names.map((record) => record.replace(/^\S+\t\S+\t/, '')), ...renamed]),
    ].sort();
    return {
      input,
      paths,
      retrieved: { files: paths.map(readable), submodules, conflicts: [], commit: null },
    };
  }

  /**
   * Attributes of the files that the checkout holds with CRLF and its commit with LF, and of new
   * files where it holds others so: the files show how it converts, also where the configuration
   * was changed since. What the attributes of the repository say goes before it.
   */
  async function lineEnds(
    paths: readonly string[],
    where: Parameters<typeof run>[1],
  ): Promise<string> {
    // A command line has no room for more.
    const touched = paths.slice(0, 1000).map((name) => `:(literal)${readable(name)}`);
    const { stdout } = await run(['ls-files', '--eol', '-z', '--', ':(glob)*', ...touched], where);
    const records = stdout.matchAll(/(i\/lf +w\/crlf +attr\/(?![^\t]*eol=))?[^\t]*\t([^\0]*)\0/g);
    const isCrlf = new Map([...records].map(([, crlf, name = '']) => [name, crlf !== undefined]));
    const ofNew = [...isCrlf.values()].includes(true);
    return paths
      .filter((name) => isCrlf.get(name) ?? ofNew)
      .map(
        (name) => `${JSON.stringify(`/${name.replace(/[*?[\\]/g, '\\$&')}`)} text=auto eol=crlf\n`,
      )
      .join('');
  }

  return {
    async intoCheckout(root, { patch, threeWay, dryRun }) {
      const here = await inRepository({ ...options, cwd: root });
      const { input, paths, retrieved } = await read(patch, here);
      if (paths.length === 0) return retrieved;
      const status =
        'status --porcelain -z --no-renames --untracked-files=no --ignore-submodules=dirty'.split(
          ' ',
        );
      const differing = new Set(
        (await must(status, here)).split('\0').map((record) => record.slice(3)),
      );
      const dirty = paths.filter((name) => differing.has(name)).map(readable);
      if (dirty.length > 0) {
        throw new AppError(
          'conflict',
          `uncommitted changes would be overwritten: ${listed(dirty)}`,
          {
            hint: 'nothing was changed; commit or stash yours first: git stash -u',
            data: { paths: dirty },
          },
        );
      }
      refuseLinks(root, paths);
      const onto = 'HEAD of this checkout';
      const flags = threeWay ? ['--3way'] : [];
      // git compares times with those in the index, and takes a copy of a file for a changed one.
      if (threeWay) await run(['update-index', '-q', '--refresh'], here);
      return await withTemporary(os.tmpdir(), async (temporary) => {
        const attributes = path.join(temporary, 'attributes');
        writeFileSync(attributes, await lineEnds(paths, here), 'latin1');
        const there = { ...here, input, config: ['-c', `core.attributesFile=${attributes}`] };
        const conflicts = await apply([...flags, '--check'], onto, there);
        options.signal?.throwIfAborted();
        // Without a signal: an interruption would leave some files changed.
        if (!dryRun) await apply(flags, onto, { ...there, signal: undefined });
        return { ...retrieved, conflicts };
      });
    },

    hasCommit: async (root, commit) => (await commitOf(root, commit)) !== null,

    async checkBranch(root, branch) {
      if ((await run(['check-ref-format', '--branch', branch], { cwd: root })).code !== 0)
        throw new AppError('usage', `--branch: git does not accept the name "${branch}"`);
      const known = await run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], {
        cwd: root,
      });
      if (known.code === 0) throw branchExists(branch);
    },

    async ontoBranch(root, { patch, threeWay, dryRun, branch, base, message }) {
      const here = await inRepository({ ...options, cwd: root });
      const { input, paths, retrieved } = await read(patch, here);
      if (paths.length === 0) return retrieved;
      const parent =
        (base === null ? null : await commitOf(root, base)) ?? (await commitOf(root, 'HEAD'));
      const onto = parent === null ? 'an empty branch' : `commit ${parent.slice(0, 12)}`;
      return await withTemporary(os.tmpdir(), async (temporary) => {
        const there = { ...here, repositoryEnv: { GIT_INDEX_FILE: path.join(temporary, 'index') } };
        await must(['read-tree', parent ?? '--empty'], there);
        const conflicts = await apply(['--cached', ...(threeWay ? ['--3way'] : [])], onto, {
          ...there,
          input,
        });
        if (conflicts.length > 0) {
          throw new AppError(
            'conflict',
            `the changes conflict with ${onto} in ${listed(conflicts)}`,
            {
              hint: 'nothing was changed; merge them into the checkout instead: leave out --branch',
              data: { conflicts },
            },
          );
        }
        if (dryRun) return retrieved;
        const tree = (await must(['write-tree'], there)).trim();
        const parents = parent === null ? [] : ['-p', parent];
        const commit = (
          await must(['commit-tree', tree, ...parents, '-F', '-'], { cwd: root, input: message })
        ).trim();
        const made = [
          'update-ref',
          '-m',
          'acs conv pull',
          `refs/heads/${branch}`,
          commit,
          '0'.repeat(commit.length),
        ];
        if ((await run(made, { cwd: root })).code !== 0) throw branchExists(branch);
        return { ...retrieved, commit };
      });
    },

    checkFolder(folder) {
      const there = statSync(folder, { throwIfNoEntry: false });
      if (there && !there.isDirectory())
        throw new AppError('conflict', `${folder} is a file`, { hint: 'name a new folder' });
      if (there && readdirSync(folder).length > 0)
        throw new AppError('conflict', `the folder ${folder} is not empty`, {
          hint: 'name a new or an empty folder',
        });
      if (statSync(path.dirname(folder), { throwIfNoEntry: false })?.isDirectory() !== true)
        throw new AppError('config', `cannot write ${folder}: its folder does not exist`, {
          hint: 'create the folder, or choose another one',
        });
    },

    async intoFolder(folder, { patch, dryRun }) {
      try {
        return await withTemporary(path.dirname(folder), async (temporary) => {
          const [repository, files] = [
            path.join(temporary, 'repository'),
            path.join(temporary, 'files'),
          ];
          mkdirSync(files);
          await must(['init', '-q', '--bare', repository], { cwd: temporary });
          mkdirSync(path.join(repository, 'info'), { recursive: true });
          writeFileSync(path.join(repository, 'info', 'attributes'), KEEP_BYTES);
          const there = {
            cwd: files,
            repositoryEnv: { GIT_DIR: repository, GIT_WORK_TREE: files },
          };
          const { input, paths, retrieved } = await read(patch, there);
          if (paths.length > 0) {
            await apply([], 'an empty folder', { ...there, input });
            options.signal?.throwIfAborted();
            if (!dryRun) renameSync(files, folder);
          }
          return retrieved;
        });
      } catch (error) {
        if (!(error instanceof Error) || !('syscall' in error)) throw error;
        throw new AppError('config', `cannot write ${folder}: ${error.message}`, {
          ...UNCHANGED,
          cause: error,
        });
      }
    },
  };
}

async function withTemporary<T>(parent: string, use: (folder: string) => Promise<T>) {
  const folder = mkdtempSync(path.join(parent, 'acs-pull-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * With `--3way` git looks for links in its index only, and would write through one that it does not
 * track.
 */
function refuseLinks(root: string, paths: readonly string[]): void {
  const touched = new Set(paths);
  for (const name of paths) {
    for (
      let parent = path.posix.dirname(name);
      parent !== '.' && parent !== '/';
      parent = path.posix.dirname(parent)
    ) {
      const file = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(parent, 'latin1')]);
      if (
        touched.has(parent) ||
        lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true
      )
        continue;
      throw new AppError(
        'conflict',
        `${readable(parent)} is a symbolic link, and the changes need a folder there`,
        {
          hint: 'nothing was changed; move the link away',
          data: { paths: [readable(parent)] },
        },
      );
    }
  }
}

function branchExists(branch: string): AppError {
  return new AppError('conflict', `the branch ${branch} exists`, {
    hint: 'give another name; nothing was changed',
  });
}

/** Each byte of the path is one character. */
function unquoted(name: string): string {
  return name.startsWith('"') ? Buffer.from(unquotePath(name)).toString('latin1') : name;
}

function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more files` : shown;
}
