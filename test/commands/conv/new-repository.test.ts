import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clockFrom } from '../../../src/clock.ts';
import type { NewOptions } from '../../../src/commands/conv/new-options.ts';
import { choosePlace } from '../../../src/commands/conv/new-repository.ts';
import { isAppError } from '../../../src/errors.ts';
import type { Server } from '../../../src/servers/server.ts';
import { createContext } from '../../../src/wire.ts';
import { type GitHost, startGitHost } from '../../support/git-host.ts';
import { PACKAGE_ROOT } from '../../support/world.ts';
import { useNewWorld } from './new-world.ts';
import { type ConversationJson, finish, git, json, jsonLines, makeRepository, replayFile, run } from './support.ts';

/** A server far away: it clones by owner/name, and never sees this machine's folders. */
const distant = (...providers: string[]) =>
  ({
    presence: () => 'absent',
    git: { providers: () => Promise.resolve(providers.map((git_provider) => ({ git_provider, host: null }))) },
  }) as unknown as Server;

let dir: string;
let host: GitHost;
let checkout: string;

// A repository at http://127.0.0.1/acme/app.git, served as plain files, and a checkout of it.
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-repository-'));
  const seed = await makeRepository(path.join(dir, 'seed'));
  await mkdir(path.join(dir, 'served', 'acme'), { recursive: true });
  await git(dir, 'clone', '-q', '--bare', seed, path.join(dir, 'served', 'acme', 'app.git'));
  await git(path.join(dir, 'served', 'acme', 'app.git'), 'update-server-info');
  host = await startGitHost(path.join(dir, 'served'));
  checkout = path.join(dir, 'checkout');
  await git(dir, 'clone', '-q', `${host.url.replace('//', '//user:token@')}/acme/app.git`, checkout);
});
afterAll(async () => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

async function choose(
  cwd: string,
  options: Pick<NewOptions, 'repo' | 'branch' | 'gitProvider'>,
  server = distant('github', 'gitlab'),
  searchPath = process.env.PATH,
) {
  let err = '';
  const stream = { isTTY: false, columns: undefined, write: () => Promise.resolve() };
  const context = createContext({
    root: PACKAGE_ROOT,
    io: {
      stdin: { isTTY: false, raw: new PassThrough(), readAll: () => new Promise(() => {}) },
      stdout: stream,
      stderr: { ...stream, write: (text) => ((err += Buffer.from(text).toString()), Promise.resolve()) },
    },
    env: { PATH: searchPath, HOME: dir, CI: 'true' },
    cwd,
    home: dir,
    platform: process.platform,
    clock: clockFrom(() => Date.now()),
    signal: new AbortController().signal,
  });
  try {
    return { place: await choosePlace(context, server, options), err, code: 0 };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { place: null, err: `${err}${error.message}`, code: error.exitCode };
  }
}

const at = useNewWorld();
const { acs, acsIn, sent } = at;

let repository: string;
beforeAll(async () => {
  repository = await makeRepository(path.join(at.world.dir, 'repository'));
});

describe('the repository of a conversation at a remote server', () => {
  const provider = { gitProvider: 'forgejo' };

  it('is owner/name of the remote of the checkout, with the current branch', async () => {
    const { place, err } = await choose(checkout, provider);
    expect(place).toEqual({ repository: 'acme/app', branch: 'main', git_provider: 'forgejo' });
    expect(err).toContain('repository acme/app, branch main');
    expect(err).not.toContain('token');
  });

  it('exits 2 without --git-provider when the host is unknown', async () => {
    expect(await choose(checkout, {})).toMatchObject({
      code: 2,
      err: expect.stringContaining('github, gitlab') as string,
    });
    expect(await choose(checkout, {}, distant())).toMatchObject({ code: 2 });
  });

  it('is at the only provider that the server is connected to', async () => {
    expect((await choose(checkout, {}, distant('forgejo'))).place).toMatchObject({ git_provider: 'forgejo' });
    expect((await choose(dir, { repo: 'acme/other' }, distant('gitlab'))).place).toMatchObject({
      git_provider: 'gitlab',
    });
  });

  it('exits 5 when the branch is not on the remote', async () => {
    await git(checkout, 'switch', '-q', '-c', 'only-here');
    const ended = await choose(checkout, provider);
    await git(checkout, 'switch', '-q', 'main');
    expect(ended.code).toBe(5);
    expect(ended.err).toContain('only-here');
  });

  it('is started from pushed commits, with a warning about the others', async () => {
    await writeFile(path.join(checkout, 'new.txt'), 'x');
    await git(checkout, 'add', '.');
    await git(checkout, 'commit', '-q', '-m', 'second');
    await writeFile(path.join(checkout, 'new.txt'), 'y');
    const { err } = await choose(checkout, provider);
    expect(err).toContain('uncommitted changes and 1 unpushed commit');
  });

  it('can be named: the current branch is used only for the repository of the checkout', async () => {
    expect((await choose(checkout, { repo: 'acme/app', ...provider })).place).toMatchObject({ branch: 'main' });
    expect((await choose(checkout, { repo: 'acme/other', ...provider })).place).toEqual({
      repository: 'acme/other',
      branch: null,
      git_provider: 'forgejo',
    });
    expect((await choose(checkout, { repo: 'acme/other' })).code).toBe(2);
  });

  it('can be a URL in any form of git, and its credentials are not sent', async () => {
    const place = { repository: 'acme/app', branch: null, git_provider: 'github' };
    for (const repo of [
      'https://me:secret@github.com/acme/app.git',
      'git@github.com:acme/app.git',
      'ssh://git@github.com/acme/app',
    ]) {
      expect((await choose(dir, { repo })).place).toEqual(place);
    }
  });

  it('is none with --no-repo, and outside of a checkout', async () => {
    const none = { repository: null, branch: null, git_provider: null };
    expect((await choose(checkout, { repo: false })).place).toEqual(none);
    expect(await choose(dir, {})).toMatchObject({
      place: none,
      err: expect.stringContaining('no git checkout here') as string,
    });
  });

  it('exits 3 when git is not installed, unless --repo or --no-repo is given', async () => {
    const withoutGit = (options: Parameters<typeof choose>[1]) =>
      choose(checkout, options, distant('github'), '/nowhere');
    const refused = { code: 3, err: expect.stringContaining('git is not installed') as string };
    expect(await withoutGit({})).toMatchObject(refused);
    expect(await withoutGit({ repo: '.' })).toMatchObject(refused);
    expect((await withoutGit({ repo: 'acme/app', branch: 'main' })).place).toEqual({
      repository: 'acme/app',
      branch: 'main',
      git_provider: 'github',
    });
    expect((await withoutGit({ repo: false })).place).toMatchObject({ repository: null });
  });

  it('exits 2 for a checkout without a remote', async () => {
    const local = await makeRepository(path.join(dir, 'local'));
    expect(await choose(dir, { repo: local })).toMatchObject({ code: 2 });
    expect(await choose(local, {})).toMatchObject({ place: { repository: null } });
  });
});

describe('the repository', () => {
  it('is the checkout of the working directory, and a notice names it', async () => {
    const folder = path.join(repository, 'deep');
    await mkdir(folder, { recursive: true });
    const ended = await acsIn(folder, '--replay', 'demo', '--json');
    expect(json(ended)).toMatchObject({ repository, branch: 'main' });
    expect(jsonLines<{ notice: string }>(ended.err)[0]?.notice).toContain(`repository ${repository}, branch main`);
  });

  it('is not set outside of a checkout, which a notice states', async () => {
    const ended = await acs('--replay', 'demo', '--json');
    expect(json(ended).repository).toBeNull();
    expect(ended.err).toContain('no git checkout here');
  });

  it('is read from a path', async () => {
    const ended = await acs('--repo', './repository', '--replay', 'demo', '--json');
    expect(json(ended)).toMatchObject({ repository, branch: 'main' });
  });

  it('without the named branch exits 5', async () => {
    const ended = await acsIn(repository, '--replay', 'demo', '-b', 'nope', '--json');
    expect(ended.code).toBe(5);
    expect(sent()).toEqual([]);
  });

  it('needs --branch when HEAD is detached', async () => {
    const detached = await makeRepository(path.join(at.world.dir, 'detached'));
    await git(detached, 'checkout', '-q', '--detach');
    expect((await acsIn(detached, '--replay', 'demo', '--json')).code).toBe(2);
    expect(sent()).toEqual([]);
    const ended = await acsIn(detached, '--replay', 'demo', '-b', 'main', '--json');
    expect(json(ended)).toMatchObject({ branch: 'main' });
  });

  it('is started from its commits, with a warning about uncommitted files', async () => {
    const dirty = await makeRepository(path.join(at.world.dir, 'dirty'));
    await writeFile(path.join(dirty, 'README.md'), 'changed\n');
    const ended = await acsIn(dirty, '--replay', 'demo', '--json');
    expect(ended.code).toBe(0);
    expect(ended.err).toContain('uncommitted changes');
  });

  it('is in the workspace: events, diff and files agree', async () => {
    const file = await replayFile(at.world, 'edit.json', [
      run('cat README.md'),
      { action: 'write', args: { path: 'NEW.md', content: 'new words\n' } },
      run('cat NEW.md'),
      finish('written'),
    ]);
    const started = json<ConversationJson>(await acsIn(repository, '--replay', file, '--wait', '--json'));
    const { items } = json<{ items: { kind: string; text: string }[] }>(
      await at.world.acs('conv', 'events', started.id, '--kind', 'ObservationEvent', '--json'),
    );
    expect(items.map(({ text }) => text)).toEqual(expect.arrayContaining(['hello', 'new words']));
    const diff = await at.world.acs('conv', 'diff', started.id);
    expect(diff.out).toContain('+new words');
    expect(diff.out).not.toContain('README');
    expect((await at.world.acs('conv', 'result', started.id)).out).toBe('written');
    expect(await git(repository, 'status', '--short')).toBe('');
  });
});
