import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRetriever } from '../../../src/checkout/pull/index.ts';
import type { IntoCheckout } from '../../../src/checkout/pull/into-checkout.ts';
import { git, makeMatrixBase, MATRIX_BASE, MATRIX_CHANGES, shell } from '../../support/patch-matrix.ts';
import { ENV, PROCESS, usePlace } from './support.ts';

const place = usePlace('printf "one\\ntwo\\nthree\\n" >a.txt && mkdir d && echo b >d/b.txt && echo keep >keep.txt');

const pull = (patch: Uint8Array, more: Partial<IntoCheckout> = {}) =>
  place.retriever.intoCheckout({
    root: place.root,
    patch,
    dryRun: false,
    threeWay: false,
    onUndone: () => Promise.resolve(),
    ...more,
  });
const status = () => git(place.root, 'status', '--short', '--untracked-files=all');
const text = (name: string) => readFileSync(path.join(place.root, name), 'utf8');
const write = (name: string, content: string) => writeFileSync(path.join(place.root, name), content);
/** Nothing of a pull is left in the git folder. */
const leftovers = () => readdirSync(path.join(place.root, '.git')).filter((name) => /^acs-|\.lock$/.test(name));

describe('a pull into a checkout', () => {
  it('leaves the changes uncommitted and the index as it was', async () => {
    write('keep.txt', 'mine\n');
    git(place.root, 'add', 'keep.txt');
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt && mv d/b.txt d/c.txt && echo new >new.txt');

    const pulled = await pull(patch);

    expect(pulled).toEqual({ files: ['a.txt', 'd/b.txt', 'd/c.txt', 'new.txt'], conflicts: [], submodules: [] });
    expect(status()).toBe(' M a.txt\n D d/b.txt\nM  keep.txt\n?? d/c.txt\n?? new.txt');
    expect(leftovers()).toEqual([]);
  });

  it('writes the same files as the changes themselves, for each kind of change', async () => {
    const root = path.join(place.dir, 'matrix');
    makeMatrixBase(root);
    const wanted = path.join(place.dir, 'wanted');
    git(place.dir, 'clone', '-q', root, wanted);
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
    ['a staged file', () => (write('a.txt', 'mine\n'), git(place.root, 'add', 'a.txt'))],
    [
      'a staged file whose change was taken back',
      () => (write('a.txt', 'mine\n'), git(place.root, 'add', 'a.txt'), write('a.txt', 'one\ntwo\nthree\n')),
    ],
    ['an untracked file', () => write('new.txt', 'mine\n')],
    ['an ignored file', () => (write('.git/info/exclude', 'new.txt\n'), write('new.txt', 'mine\n'))],
    ['a deleted file', () => shell(place.root, 'rm a.txt')],
  ])('is refused when %s would be overwritten, and nothing changes', async (_, change) => {
    change();
    const before = [status(), existsSync(path.join(place.root, 'new.txt')) ? text('new.txt') : null];

    await expect(
      pull(place.patchOf('git checkout -q . && sed -i s/two/TWO/ a.txt && echo new >new.txt')),
    ).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/a\.txt|new\.txt/) as string,
    });

    expect([status(), existsSync(path.join(place.root, 'new.txt')) ? text('new.txt') : null]).toEqual(before);
    expect(leftovers()).toEqual([]);
  });

  it('is refused when the changes do not apply, with the ways to get them', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');
    write('a.txt', 'one\nzwei\nthree\n');
    git(place.root, 'commit', '-qam', 'other');

    await expect(pull(patch)).rejects.toMatchObject({
      kind: 'conflict',
      details: { hint: expect.stringContaining('--3way') as string },
    });
    expect(status()).toBe('');
  });

  it('merges with --3way, and marks conflicts in the file and in the index', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt && echo more >>keep.txt');
    shell(place.root, 'sed -i s/two/zwei/ a.txt && sed -i 1iabove keep.txt');
    git(place.root, 'commit', '-qam', 'other');

    const { conflicts } = await pull(patch, { threeWay: true });

    expect(conflicts).toEqual(['a.txt']);
    expect(text('a.txt')).toContain('<<<<<<<');
    expect(text('keep.txt')).toBe('above\nkeep\nmore\n');
    expect(status()).toBe('UU a.txt\nM  keep.txt');
    expect(leftovers()).toEqual([]);
  });

  it('is refused with --3way while another git process has the index locked', async () => {
    write('.git/index.lock', '');

    await expect(pull(place.patchOf('echo new >new.txt'), { threeWay: true })).rejects.toMatchObject({
      kind: 'conflict',
    });
    expect(existsSync(path.join(place.root, '.git', 'index.lock'))).toBe(true);
    expect(existsSync(path.join(place.root, 'new.txt'))).toBe(false);
  });

  it.each([
    [
      'above the checkout',
      'diff --git a/../out.txt b/../out.txt\nnew file mode 100644\n--- /dev/null\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+x\n',
    ],
    [
      'an absolute path',
      'diff --git a//tmp/acs-out.txt b//tmp/acs-out.txt\nnew file mode 100644\n--- /dev/null\n+++ b//tmp/acs-out.txt\n@@ -0,0 +1 @@\n+x\n',
    ],
    [
      'the git folder',
      'diff --git a/.git/hooks/post-checkout b/.git/hooks/post-checkout\nnew file mode 100755\n--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n',
    ],
    [
      'through a link of its own',
      'diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+..\n\\ No newline at end of file\ndiff --git a/way/out.txt b/way/out.txt\nnew file mode 100644\n--- /dev/null\n+++ b/way/out.txt\n@@ -0,0 +1 @@\n+x\n',
    ],
  ])('refuses a patch that writes to %s', async (_, patch) => {
    await expect(pull(new TextEncoder().encode(patch))).rejects.toMatchObject({
      kind: 'server',
      message: expect.stringContaining('leaves the checkout') as string,
    });

    expect(status()).toBe('');
    expect(readdirSync(place.dir)).toEqual(['root']);
    expect(existsSync('/tmp/acs-out.txt')).toBe(false);
    expect(existsSync(path.join(place.root, '.git/hooks/post-checkout'))).toBe(false);
  });

  it('refuses to write through a link that the user has in place of a folder', async () => {
    const patch = place.patchOf('mkdir e && echo new >e/new.txt');
    mkdirSync(path.join(place.dir, 'elsewhere'));
    symlinkSync(path.join(place.dir, 'elsewhere'), path.join(place.root, 'e'));

    await expect(pull(patch)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('link') as string,
    });
    expect(readdirSync(path.join(place.dir, 'elsewhere'))).toEqual([]);
  });

  it('works in a linked worktree, in a subfolder of a repository without commits, and in one with SHA-256', async () => {
    const patch = place.patchOf('echo new >new.txt');
    const linked = path.join(place.dir, 'linked');
    git(place.root, 'worktree', 'add', '-q', linked);
    const empty = path.join(place.dir, 'empty');
    git(place.dir, 'init', '-q', '--object-format=sha256', empty);

    for (const root of [linked, empty]) {
      expect((await pull(patch, { root })).files).toEqual(['new.txt']);
      expect(git(root, 'status', '--short')).toBe('?? new.txt');
    }
  });

  it('writes nothing in a dry run', async () => {
    expect((await pull(place.patchOf('echo new >new.txt'), { dryRun: true })).files).toEqual(['new.txt']);
    expect(status()).toBe('');
  });

  it('writes nothing when it was interrupted before', async () => {
    const patch = place.patchOf('echo new >new.txt');
    const signal = AbortSignal.abort(new Error('interrupted'));
    const retriever = createRetriever({ ...PROCESS, env: ENV, signal });

    await expect(
      retriever.intoCheckout({
        root: place.root,
        patch,
        dryRun: false,
        threeWay: false,
        onUndone: () => Promise.resolve(),
      }),
    ).rejects.toThrow('interrupted');
    expect([status(), leftovers()]).toEqual(['', []]);
  });

  it('undoes what an earlier one that was killed had changed, and then applies the changes', async () => {
    const stage = path.join(place.root, '.git', 'acs-pull-999999-abc');
    mkdirSync(path.join(stage, 'old'), { recursive: true });
    writeFileSync(path.join(stage, 'old', 'a.txt'), text('a.txt'));
    const moves = [{ path: 'a.txt', removes: true, adds: true }];
    writeFileSync(path.join(stage, 'journal.json'), JSON.stringify({ root: place.root, moves }));
    write('a.txt', 'half done\n');
    const undone: string[] = [];

    const { files } = await pull(place.patchOf('git checkout -q . && sed -i s/two/TWO/ a.txt'), {
      onUndone: () => Promise.resolve(void undone.push('undone')),
    });

    expect({ files, undone }).toEqual({ files: ['a.txt'], undone: ['undone'] });
    expect(text('a.txt')).toBe('one\nTWO\nthree\n');
    expect(leftovers()).toEqual([]);
  });

  it('does not run hooks of the repository', async () => {
    write('.git/hooks/post-index-change', '#!/bin/sh\ntouch "$(dirname "$0")/../ran"\n');
    shell(place.root, 'chmod +x .git/hooks/post-index-change');

    await pull(place.patchOf('echo new >new.txt'), { threeWay: true });

    expect(existsSync(path.join(place.root, '.git', 'ran'))).toBe(false);
  });
});
