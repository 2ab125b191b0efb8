import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { gitChanges, gitDelta, gitDiff } from '../../../../src/service/agent-server/git.ts';
import { usePlainSandbox, useSharedWorker } from '../support/shared-sandboxes.ts';
import { step } from '../support/worker.ts';

const plain = usePlainSandbox();
let workspace: string;

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd: workspace,
    stdio: 'pipe',
  });
}

const diff = (name: string, ref: string | null) =>
  gitDiff(plain.sandbox, path.join(workspace, name), ref);

beforeEach(async () => {
  workspace = path.join(plain.folder(), 'work');
  execFileSync('git', ['init', '-q', '-b', 'main', workspace]);
  await writeFile(path.join(workspace, 'kept.txt'), 'old\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  await writeFile(path.join(workspace, 'kept.txt'), 'new\n');
});

it('a file in a folder that was deleted is compared, and one whose name has wildcards is taken literally', async () => {
  await mkdir(path.join(workspace, 'gone'));
  await writeFile(path.join(workspace, 'gone/*.txt'), 'x\n');
  git('add', '.');
  git('commit', '-q', '-m', 'second');
  git('rm', '-q', '-r', 'gone');
  expect(await diff('gone/*.txt', 'HEAD')).toEqual({ original: 'x', modified: '' });
});

it.each([
  ['a branch that was pushed is compared with what the remote has of it', [], 'old'],
  [
    'a branch that was not is compared with what it shares with the remote',
    ['checkout', '-q', '-b', 'own'],
    'old',
  ],
  [
    'a detached HEAD is compared with what it shares with the remote',
    ['checkout', '-q', '--detach'],
    'old',
  ],
])('%s', async (_, move, original) => {
  git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
  if (move.length > 0) git(...move);
  git('commit', '-q', '-a', '-m', 'second');
  expect(await diff('kept.txt', null)).toEqual({ original, modified: 'new' });
  expect(await diff('kept.txt', 'HEAD')).toEqual({ original: 'new', modified: 'new' });
});

it('without a remote every file is new', async () => {
  git('update-ref', '-d', 'refs/remotes/origin/main');
  expect(await diff('kept.txt', null)).toEqual({ original: '', modified: 'new' });
});

it('a file that is neither in the base nor in the workspace is refused', async () => {
  await expect(diff('nowhere.txt', null)).rejects.toThrow('File does not exist: ');
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
  expect(await gitDelta(plain.sandbox, workspace, null)).toContain(
    '--- a/kept.txt\n+++ b/kept.txt\n@@ -1 +1 @@\n-old\n+new\n',
  );
  expect(await gitChanges(plain.sandbox, workspace, null)).toEqual([
    { status: 'UPDATED', path: 'kept.txt' },
  ]);
});

const shared = useSharedWorker([step.finish()]);
const { get } = shared;

describe('git', () => {
  const repository = (): string => path.join(shared.worker.place.workspace, 'repository');
  // No configuration of the user who runs the tests.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository(), ...args], { env, encoding: 'utf8' });
  const inside = (file: string): string => `${shared.worker.workingDir}/repository${file}`;

  beforeAll(() => {
    const origin = path.join(shared.worker.place.workspace, 'origin');
    mkdirSync(origin);
    const at = (...args: string[]): void =>
      void execFileSync('git', ['-C', origin, ...args], { env });
    at('init', '-q', '-b', 'main');
    at('config', 'user.email', 'ann@example.com');
    at('config', 'user.name', 'Ann');
    writeFileSync(path.join(origin, 'kept.txt'), 'one\n');
    writeFileSync(path.join(origin, 'gone.txt'), 'two\n');
    writeFileSync(path.join(origin, '.gitignore'), 'ignored\n');
    at('add', '-A');
    at('commit', '-q', '-m', 'first');
    execFileSync('git', ['clone', '-q', origin, repository()], { env });
    writeFileSync(path.join(repository(), 'kept.txt'), 'one\nmore\n');
    writeFileSync(path.join(repository(), 'new ü.txt'), 'new\n');
    writeFileSync(path.join(repository(), 'ignored'), 'x');
    writeFileSync(path.join(repository(), 'binary'), Buffer.from([0, 1, 2, 255]));
    git('rm', '-q', 'gone.txt');
  });

  const changes = [
    { status: 'ADDED', path: 'binary' },
    { status: 'DELETED', path: 'gone.txt' },
    { status: 'UPDATED', path: 'kept.txt' },
    { status: 'ADDED', path: 'new ü.txt' },
  ];

  it('lists the differences from the remote, commits of the agent included', async () => {
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    git(
      '-c',
      'user.email=ann@example.com',
      '-c',
      'user.name=Ann',
      'commit',
      '-q',
      '-a',
      '-m',
      'second',
    );
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=HEAD`)).body).toEqual(
      changes.filter((change) => change.status === 'ADDED'),
    );
  });

  it('lists the changes of the repositories directly below a folder that is not a repository', async () => {
    const { body } = await get(`/api/git/changes?path=${shared.worker.workingDir}&ref=HEAD`);
    expect(body).toEqual([
      { status: 'ADDED', path: 'repository/binary' },
      { status: 'ADDED', path: 'repository/new ü.txt' },
    ]);
  });

  it('returns both sides of a file, without the last line end', async () => {
    const diff = (file: string) => get(`/api/git/diff?path=${encodeURIComponent(inside(file))}`);
    expect((await diff('/kept.txt')).body).toEqual({ original: 'one', modified: 'one\nmore' });
    expect((await diff('/new ü.txt')).body).toEqual({ original: '', modified: 'new' });
    expect((await diff('/gone.txt')).body).toEqual({ original: 'two', modified: '' });
    expect(await diff('/zzz.txt')).toEqual({
      status: 400,
      body: { detail: `File does not exist: ${inside('/zzz.txt')}` },
    });
  });

  it('returns one patch of all changes that git can apply', async () => {
    const { body } = await get(`/api/file/archive?path=${inside('')}&format=git-delta`);
    const copy = path.join(shared.worker.place.workspace, 'copy');
    execFileSync('git', ['clone', '-q', path.join(shared.worker.place.workspace, 'origin'), copy], {
      env,
    });
    execFileSync('git', ['-C', copy, 'apply', '--index'], { env, input: body as string });
    expect(readFileSync(path.join(copy, 'binary')).equals(Buffer.from([0, 1, 2, 255]))).toBe(true);
    expect(readFileSync(path.join(copy, 'kept.txt'), 'utf8')).toBe('one\nmore\n');
  });

  it('returns no changes where there is no repository', async () => {
    expect((await get('/api/git/changes?path=/proc')).body).toEqual([]);
    expect((await get('/api/git/changes?path=/no/such')).body).toEqual([]);
  });

  it('executes no command that the configuration of the repository names', async () => {
    git('config', 'core.fsmonitor', `touch ${inside('/../ran')}`);
    git('config', 'diff.external', `touch ${inside('/../ran')}`);
    await get(`/api/git/changes?path=${inside('')}`);
    await get(`/api/git/diff?path=${inside('/kept.txt')}`);
    expect(
      statSync(path.join(shared.worker.place.workspace, 'ran'), { throwIfNoEntry: false }),
    ).toBe(undefined);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=--output=x`)).status).toBe(400);
  });
});
