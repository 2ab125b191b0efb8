import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { step } from '../../support/worker.ts';
import { useSharedWorker } from '../../support/shared-worker.ts';

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
    const at = (...args: string[]): void => void execFileSync('git', ['-C', origin, ...args], { env });
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
    git('-c', 'user.email=ann@example.com', '-c', 'user.name=Ann', 'commit', '-q', '-a', '-m', 'second');
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
    execFileSync('git', ['clone', '-q', path.join(shared.worker.place.workspace, 'origin'), copy], { env });
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
    expect(statSync(path.join(shared.worker.place.workspace, 'ran'), { throwIfNoEntry: false })).toBe(undefined);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=--output=x`)).status).toBe(400);
  });
});
