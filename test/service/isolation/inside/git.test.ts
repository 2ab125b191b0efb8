import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { gitChanges, gitDelta, gitDiff } from '../../../../src/service/isolation/inside/git.ts';

const PATH = process.env.PATH;
let dir: string;
let workspace: string;
let calls: string;

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: workspace, stdio: 'pipe' });
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-git-'));
  workspace = path.join(dir, 'work');
  calls = path.join(dir, 'calls');
  execFileSync('git', ['init', '-q', '-b', 'main', workspace]);
  await writeFile(path.join(workspace, 'kept.txt'), 'old\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  await writeFile(path.join(workspace, 'kept.txt'), 'new\n');
});
afterEach(async () => {
  process.env.PATH = PATH;
  await rm(dir, { recursive: true, force: true });
});

it('gitDiff of many files at a time shares the processes that find the base', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `new-${index}*.txt`);
  await Promise.all(names.map((name) => writeFile(path.join(workspace, name), `${name}\n`)));
  const real = execFileSync('which', ['git']).toString().trim();
  await writeFile(path.join(dir, 'git'), `#!/bin/sh\necho "$1" >>'${calls}'\nexec '${real}' "$@"\n`);
  await chmod(path.join(dir, 'git'), 0o755);
  process.env.PATH = `${dir}:${PATH ?? ''}`;
  const sides = await Promise.all(['kept.txt', ...names].map((name) => gitDiff(workspace, name, null)));
  expect(sides).toEqual([
    { original: 'old', modified: 'new' },
    ...names.map((name) => ({ original: '', modified: name })),
  ]);
  const processes = (await readFile(calls, 'utf8')).trim().split('\n').length;
  expect(processes).toBeLessThan(names.length);
});

it.each([
  ['a branch that was pushed is compared with what the remote has of it', [], 'old'],
  ['a branch that was not is compared with what it shares with the remote', ['checkout', '-q', '-b', 'own'], 'old'],
  ['a detached HEAD is compared with what it shares with the remote', ['checkout', '-q', '--detach'], 'old'],
])('%s', async (_, move, original) => {
  git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
  if (move.length > 0) git(...move);
  git('commit', '-q', '-a', '-m', 'second');
  expect(await gitDiff(workspace, 'kept.txt', null)).toEqual({ original, modified: 'new' });
  expect(await gitDiff(workspace, 'kept.txt', 'HEAD')).toEqual({ original: 'new', modified: 'new' });
});

it('without a remote every file is new', async () => {
  git('update-ref', '-d', 'refs/remotes/origin/main');
  expect(await gitDiff(workspace, 'kept.txt', null)).toEqual({ original: '', modified: 'new' });
});

it('a file that is neither in the base nor in the workspace is refused', async () => {
  await expect(gitDiff(workspace, 'nowhere.txt', null)).rejects.toMatchObject({ code: 'not-found' });
});

it('a patch of everything is one that git applies, whatever the configuration of git in the workspace', async () => {
  for (const [name, value] of [
    ['diff.noprefix', 'true'],
    ['diff.context', '0'],
    ['diff.orderFile', '/nowhere'],
    ['core.autocrlf', 'true'],
    ['core.safecrlf', 'true'],
  ] as const) {
    git('config', name, value);
  }
  expect(await gitDelta(workspace, '.', null)).toContain('--- a/kept.txt\n+++ b/kept.txt\n@@ -1 +1 @@\n-old\n+new\n');
  expect(await gitChanges(workspace, '.', null)).toEqual([{ status: 'UPDATED', path: 'kept.txt' }]);
});
