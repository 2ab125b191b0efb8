import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Retriever, type Retrieval } from '../../../src/local/checkout/pull.ts';
import {
  git,
  makeMatrixBase,
  MATRIX_BASE,
  MATRIX_CHANGES,
  shell,
} from '../../support/patch-matrix.ts';

const ENV = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};
const retriever = new Retriever({ env: ENV });

const all = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-pull-test-')));
afterAll(() => rmSync(all, { recursive: true, force: true }));
let dir = '';
/** A checkout with one commit. */
let root = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(all, 'test-'));
  root = path.join(dir, 'root');
  git(dir, 'init', '-q', '-b', 'main', root);
  shell(
    root,
    'printf "one\\ntwo\\nthree\\n" >a.txt && mkdir d && echo b >d/b.txt && echo keep >keep.txt',
  );
  git(root, 'add', '-A');
  git(root, 'commit', '-q', '-m', 'base');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The patch of these commands on the commit. */
function patchOf(changes: string): Uint8Array {
  const other = mkdtempSync(path.join(dir, 'other-'));
  git(dir, 'clone', '-q', root, other);
  shell(other, changes);
  git(other, 'add', '-A');
  const text = git(other, 'diff', '--cached', '--binary', '--full-index', '-M', 'HEAD');
  rmSync(other, { recursive: true });
  return new TextEncoder().encode(`${text}\n`);
}

const pull = (patch: Uint8Array, more: Partial<Retrieval> & { root?: string } = {}) =>
  retriever.intoCheckout(more.root ?? root, { patch, dryRun: false, threeWay: false, ...more });
const status = () => git(root, 'status', '--short', '--untracked-files=all');
const text = (name: string) => readFileSync(path.join(root, name), 'utf8');
const write = (name: string, content: string) => writeFileSync(path.join(root, name), content);

/** A patch that adds a file of one line. */
const addition = (name: string, line = 'x', mode = 100644) =>
  `diff --git a/${name} b/${name}\nnew file mode ${mode}\n--- /dev/null\n+++ b/${name}\n@@ ` +
  `-0,0 +1 @@\n+${line}\n` +
  (mode === 100644 ? '' : '\\ No newline at end of file\n');

describe('a pull into a checkout', () => {
  it('leaves the changes uncommitted and the index as it was', async () => {
    write('keep.txt', 'mine\n');
    git(root, 'add', 'keep.txt');
    const patch = patchOf('sed -i s/two/TWO/ a.txt && mv d/b.txt d/c.txt && echo new >new.txt');
    const pulled = await pull(patch);
    expect(pulled).toEqual({
      files: ['a.txt', 'd/b.txt', 'd/c.txt', 'new.txt'],
      conflicts: [],
      submodules: [],
      commit: null,
    });
    expect(status()).toBe(' M a.txt\n D d/b.txt\nM  keep.txt\n?? d/c.txt\n?? new.txt');
  });

  it('writes the same files as the changes themselves, for each kind of change', async () => {
    const root = path.join(dir, 'matrix');
    makeMatrixBase(root);
    const wanted = path.join(dir, 'wanted');
    git(dir, 'clone', '-q', root, wanted);
    shell(wanted, MATRIX_CHANGES);
    git(wanted, 'add', '-A');
    const patch = git(wanted, 'diff', '--cached', '--binary', '--full-index', '-M', 'HEAD');
    const { submodules } = await pull(new TextEncoder().encode(`${patch}\n`), { root });
    git(root, 'add', '-A');
    const files = (dir: string) =>
      git(dir, 'ls-files', '--stage')
        .split('\n')
        .filter((line) => !line.endsWith('\tsub'));
    expect(files(root)).toEqual(files(wanted));
    expect(submodules).toEqual(['sub']);
    expect(MATRIX_BASE).toContain('git init -q sub');
  });

  it.each([
    ['a changed file', () => write('a.txt', 'mine\n')],
    ['a change of the same size within the same second', () => write('a.txt', 'eno\ntwo\nthree\n')],
    ['a staged file', () => (write('a.txt', 'mine\n'), git(root, 'add', 'a.txt'))],
    [
      'a staged file whose change was taken back',
      () => (
        write('a.txt', 'mine\n'),
        git(root, 'add', 'a.txt'),
        write('a.txt', 'one\ntwo\nthree\n')
      ),
    ],
    ['an untracked file', () => write('new.txt', 'mine\n')],
    [
      'an ignored file',
      () => (write('.git/info/exclude', 'new.txt\n'), write('new.txt', 'mine\n')),
    ],
    ['a deleted file', () => shell(root, 'rm a.txt')],
  ])('is refused when %s would be overwritten, and nothing changes', async (_, change) => {
    change();
    const state = () => [status(), existsSync(path.join(root, 'new.txt')) ? text('new.txt') : null];
    const before = state();
    await expect(
      pull(patchOf('git checkout -q . && sed -i s/two/TWO/ a.txt && echo new >new.txt')),
    ).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/a\.txt|new\.txt/) as string,
    });
    expect(state()).toEqual(before);
  });

  it('is refused when the changes do not apply, with the ways to get them', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt');
    write('a.txt', 'one\nzwei\nthree\n');
    git(root, 'commit', '-qam', 'other');
    await expect(pull(patch)).rejects.toMatchObject({
      kind: 'conflict',
      details: { hint: expect.stringContaining('--3way') as string },
    });
    expect(status()).toBe('');
  });

  it('merges with --3way, and marks conflicts in the file and in the index', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt && echo more >>keep.txt');
    shell(root, 'sed -i s/two/zwei/ a.txt && sed -i 1iabove keep.txt');
    git(root, 'commit', '-qam', 'other');
    const { conflicts } = await pull(patch, { threeWay: true });
    expect(conflicts).toEqual(['a.txt']);
    expect(text('a.txt')).toContain('<<<<<<<');
    expect(text('keep.txt')).toBe('above\nkeep\nmore\n');
    expect(status()).toBe('UU a.txt\nM  keep.txt');
  });

  it('is refused with --3way while another git process has the index locked', async () => {
    write('.git/index.lock', '');
    await expect(pull(patchOf('echo new >new.txt'), { threeWay: true })).rejects.toMatchObject({
      kind: 'conflict',
    });
    expect(existsSync(path.join(root, '.git', 'index.lock'))).toBe(true);
    expect(existsSync(path.join(root, 'new.txt'))).toBe(false);
  });

  it.each([
    ['above the checkout', addition('../out.txt')],
    ['an absolute path', addition('/tmp/acs-out.txt')],
    ['the git folder', addition('.git/hooks/post-checkout')],
    ['through a link of its own', addition('way', '..', 120000) + addition('way/out.txt')],
  ])('refuses a patch that writes to %s', async (_, patch) => {
    await expect(pull(new TextEncoder().encode(patch))).rejects.toMatchObject({
      kind: 'server',
      message: expect.stringContaining('leaves the checkout') as string,
    });
    expect(status()).toBe('');
    expect(readdirSync(dir)).toEqual(['root']);
    expect(existsSync('/tmp/acs-out.txt')).toBe(false);
    expect(existsSync(path.join(root, '.git/hooks/post-checkout'))).toBe(false);
  });

  it.each([false, true])(
    'refuses to write through a link that the user has in place of a folder (--3way %s)',
    async (threeWay) => {
      const patch = patchOf('mkdir e && echo new >e/new.txt');
      mkdirSync(path.join(dir, 'elsewhere'));
      symlinkSync(path.join(dir, 'elsewhere'), path.join(root, 'e'));
      await expect(pull(patch, { threeWay })).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining('link') as string,
      });
      expect(readdirSync(path.join(dir, 'elsewhere'))).toEqual([]);
    },
  );

  it('works in a linked worktree, in a subfolder of a repository without commits, and in one with SHA-256', async () => {
    const patch = patchOf('echo new >new.txt');
    const linked = path.join(dir, 'linked');
    git(root, 'worktree', 'add', '-q', linked);
    const empty = path.join(dir, 'empty');
    git(dir, 'init', '-q', '--object-format=sha256', empty);
    for (const root of [linked, empty]) {
      expect((await pull(patch, { root })).files).toEqual(['new.txt']);
      expect(git(root, 'status', '--short')).toBe('?? new.txt');
    }
  });

  it('writes nothing in a dry run, which names the files and the conflicts', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt && echo new >new.txt');
    shell(root, 'sed -i s/two/zwei/ a.txt');
    git(root, 'commit', '-qam', 'other');
    expect(await pull(patch, { dryRun: true, threeWay: true })).toMatchObject({
      files: ['a.txt', 'new.txt'],
      conflicts: ['a.txt'],
    });
    expect(status()).toBe('');
  });

  it('writes nothing when it was interrupted before', async () => {
    const patch = patchOf('echo new >new.txt');
    const interrupted = new Retriever({
      env: ENV,
      signal: AbortSignal.abort(new Error('interrupted')),
    });
    await expect(
      interrupted.intoCheckout(root, { patch, dryRun: false, threeWay: false }),
    ).rejects.toThrow('interrupted');
    expect(status()).toBe('');
  });

  it.each([false, true])(
    'writes the line ends that the checkout has, whatever git is set to convert (--3way %s)',
    async (threeWay) => {
      shell(root, 'printf "x\\r\\ny\\r\\n" >crlf; printf "rem\\n" >run.bat; echo one >"[b] c.txt"');
      write('.gitattributes', '*.bat text eol=crlf\n');
      git(root, 'add', '-A');
      git(root, 'commit', '-qm', 'line ends');
      const edit =
        'echo more >>a.txt; echo more >>keep.txt; echo more >>"[b] c.txt"; printf "z\\r\\n" ' +
        '>>crlf;';
      const patch = patchOf(
        `${edit} printf "rem two\\n" >>run.bat; echo new >new.txt; printf "\\000\\n" >new.bin`,
      );
      // As in a checkout that git made with core.autocrlf, in which an editor then saved one file
      // with LF.
      shell(
        root,
        'rm a.txt "[b] c.txt" && git -c core.autocrlf=true checkout -q a.txt "[b] c.txt"',
      );
      const gitconfig = path.join(dir, 'gitconfig');
      const files = ['a.txt', '[b] c.txt', 'keep.txt', 'crlf', 'run.bat', 'new.txt', 'new.bin'];
      for (const value of ['true', 'input', 'false']) {
        writeFileSync(gitconfig, `[core]\n\tautocrlf = ${value}\n\teol = crlf\n`);
        const copy = path.join(dir, value);
        shell(dir, `cp -a root ${value}`);
        const other = new Retriever({ env: { ...ENV, GIT_CONFIG_GLOBAL: gitconfig } });
        await other.intoCheckout(copy, { patch, threeWay, dryRun: false });
        expect(files.map((name) => readFileSync(path.join(copy, name), 'latin1'))).toEqual([
          'one\r\ntwo\r\nthree\r\nmore\r\n',
          'one\r\nmore\r\n',
          'keep\nmore\n',
          'x\r\ny\r\nz\r\n',
          'rem\r\nrem two\r\n',
          'new\r\n',
          '\0\n',
        ]);
      }
    },
  );

  it('does not run hooks of the repository', async () => {
    write('.git/hooks/post-index-change', '#!/bin/sh\ntouch "$(dirname "$0")/../ran"\n');
    shell(root, 'chmod +x .git/hooks/post-index-change');
    await pull(patchOf('echo new >new.txt'), { threeWay: true });
    expect(existsSync(path.join(root, '.git', 'ran'))).toBe(false);
  });
});

type Branch = Parameters<typeof retriever.ontoBranch>[1];
const commitOnBranch = (patch: Uint8Array, more: Partial<Branch> = {}) =>
  retriever.ontoBranch(root, {
    patch,
    branch: 'agent/work',
    base: null,
    message: 'Repaired it.\n\n# A heading\n',
    dryRun: false,
    threeWay: false,
    ...more,
  });
const branches = () => git(root, 'branch', '--format=%(refname:short)');

describe('a pull onto a branch', () => {
  it('commits on the commit that the run started from, and leaves index, files and current branch', async () => {
    const base = git(root, 'rev-parse', 'HEAD');
    const patch = patchOf('sed -i s/two/TWO/ a.txt');
    writeFileSync(path.join(root, 'a.txt'), 'quite other\n');
    git(root, 'commit', '-qam', 'other');
    writeFileSync(path.join(root, 'a.txt'), 'uncommitted\n');
    const { commit, files } = await commitOnBranch(patch, { base });
    expect(files).toEqual(['a.txt']);
    expect(git(root, 'rev-parse', 'agent/work', 'agent/work^')).toBe(`${commit}\n${base}`);
    expect(git(root, 'log', '-1', '--format=%B', 'agent/work').trimEnd()).toBe(
      'Repaired it.\n\n# A heading',
    );
    expect(git(root, 'show', 'agent/work:a.txt')).toBe('one\nTWO\nthree');
    expect(git(root, 'status', '--short', '--branch')).toBe('## main\n M a.txt');
  });

  it('commits on HEAD when the checkout does not have that commit', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt');
    const { commit } = await commitOnBranch(patch, { base: 'f'.repeat(40) });
    expect(git(root, 'rev-parse', `${commit}^`)).toBe(git(root, 'rev-parse', 'main'));
  });

  it.each([false, true])(
    'makes no branch when the changes do not fit (--3way %s)',
    async (threeWay) => {
      const patch = patchOf('sed -i s/two/TWO/ a.txt');
      writeFileSync(path.join(root, 'a.txt'), 'one\nzwei\nthree\n');
      git(root, 'commit', '-qam', 'other');
      await expect(commitOnBranch(patch, { threeWay })).rejects.toMatchObject({ kind: 'conflict' });
      expect(branches()).toBe('main');
    },
  );

  it('makes no branch in a dry run, nor for changes that are none', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt');
    expect((await commitOnBranch(patch, { dryRun: true })).files).toEqual(['a.txt']);
    expect((await commitOnBranch(new Uint8Array())).commit).toBeNull();
    expect(branches()).toBe('main');
  });

  it('does not replace a branch that another process made meanwhile', async () => {
    const patch = patchOf('sed -i s/two/TWO/ a.txt');
    git(root, 'branch', 'agent/work');
    await expect(commitOnBranch(patch)).rejects.toMatchObject({ kind: 'conflict' });
    expect(git(root, 'rev-parse', 'agent/work')).toBe(git(root, 'rev-parse', 'main'));
  });
});

describe('the patch between two workspaces', () => {
  const files = (folder: string) => git(folder, 'ls-files', '--stage').replace(/^.*\tsub$/m, '');
  /** The patches of these commands on the commit, with its tree. */
  const sideOf = (name: string, changes: string) => {
    const folder = path.join(dir, name);
    git(dir, 'clone', '-q', root, folder);
    shell(folder, changes);
    git(folder, 'add', '-A');
    const tree = git(folder, 'write-tree');
    const diff = (base: string) =>
      Buffer.from(`${git(folder, 'diff', '--cached', '--binary', '--full-index', '-M', base)}\n`);
    const patch = diff('HEAD');
    shell(
      folder,
      'git diff --cached --name-only -z --no-renames --diff-filter=d HEAD >.git/names; ' +
        'git read-tree --empty; ' +
        'git --literal-pathspecs add --pathspec-from-file=.git/names --pathspec-file-nul',
    );
    const whole = diff(git(folder, 'hash-object', '-t', 'tree', '-w', '/dev/null'));
    git(folder, 'read-tree', tree);
    return { name, patch, whole, folder, tree };
  };

  it('makes the files of one those of the other, for each kind of change', async () => {
    root = path.join(dir, 'matrix');
    makeMatrixBase(root);
    const one = sideOf('one', MATRIX_CHANGES);
    const other = sideOf(
      'other',
      'echo other >modify.txt; rm rename.txt mode.sh; echo x >folder/inner.txt; ' +
        'echo other >new.bin; printf "\\0" >binary.bin; echo "a file" >deep; rm -rf sub; ' +
        'git init -q sub && git -C sub -c user.name=T -c user.email=t@example.com commit -q ' +
        '--allow-empty -m three',
    );
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      const { patch, submodules } = await retriever.between([from, to]);
      expect(submodules).toEqual(['sub']);
      const file = path.join(dir, 'between.patch');
      writeFileSync(file, patch);
      git(from.folder, 'apply', '--cached', file);
      expect(files(from.folder)).toBe(files(to.folder));
      git(from.folder, 'read-tree', from.tree);
    }
  });

  it('exits 6 when a workspace changed between the two reads', async () => {
    const side = sideOf('one', 'echo one >a.txt');
    const changed = { ...side, whole: sideOf('later', 'echo later >a.txt').whole };
    await expect(retriever.between([side, changed])).rejects.toMatchObject({
      kind: 'conflict',
      message: 'the workspace of one changed while it was read',
    });
  });
});

describe('the check of a branch name', () => {
  it('accepts a free name and refuses one that exists or that git does not take', async () => {
    const check = (name: string) => retriever.checkBranch(root, name);
    await check('agent/work');
    await expect(check('main')).rejects.toMatchObject({ kind: 'conflict' });
    for (const name of ['', '-x', 'a..b', '@{-1}', 'a b'])
      await expect(check(name)).rejects.toMatchObject({ kind: 'usage' });
  });
});

const folder = () => path.join(dir, 'result');

describe('a pull into a folder', () => {
  it('writes files byte for byte, with their modes and links, whatever git is set to convert', async () => {
    shell(
      root,
      'printf "a\\r\\n" >crlf && printf "\\000\\377" >bin && echo x >run && chmod +x run && ' +
        'ln -s run link',
    );
    writeFileSync(path.join(root, '.gitattributes'), '* text=auto eol=crlf ident\n');
    writeFileSync(path.join(root, 'lf'), 'a\n$Id$\n');
    git(root, 'add', '-A');
    const patch = git(
      root,
      '-c',
      'core.autocrlf=false',
      'diff',
      '--cached',
      '--binary',
      '--full-index',
      'HEAD',
    );
    const { files } = await retriever.intoFolder(folder(), {
      patch: new TextEncoder().encode(`${patch}\n`),
      dryRun: false,
    });
    expect(files.sort()).toEqual(['.gitattributes', 'bin', 'crlf', 'lf', 'link', 'run']);
    expect(readFileSync(path.join(folder(), 'lf'), 'utf8')).toBe('a\n$Id$\n');
    expect(readFileSync(path.join(folder(), 'bin'))).toEqual(Buffer.from([0, 255]));
    expect(lstatSync(path.join(folder(), 'run')).mode & 0o111).not.toBe(0);
    expect(lstatSync(path.join(folder(), 'link')).isSymbolicLink()).toBe(true);
    expect(readdirSync(dir).sort()).toEqual(['result', 'root']);
  });

  it('makes no folder in a dry run', async () => {
    const patch = patchOf('echo new >new.txt');
    await retriever.intoFolder(folder(), { patch, dryRun: true });
    expect(readdirSync(dir)).toEqual(['root']);
  });
});

describe('the check of the folder', () => {
  it('accepts a new or an empty one', () => {
    retriever.checkFolder(folder());
    mkdirSync(folder());
    retriever.checkFolder(folder());
  });

  it('refuses one with files, a file, and one whose parent is missing', () => {
    mkdirSync(folder());
    writeFileSync(path.join(folder(), 'x'), '');
    expect(() => retriever.checkFolder(folder())).toThrow(/not empty/);
    expect(() => retriever.checkFolder(path.join(folder(), 'x'))).toThrow(/is a file/);
    expect(() => retriever.checkFolder(path.join(dir, 'no', 'such'))).toThrow(/does not exist/);
  });
});
