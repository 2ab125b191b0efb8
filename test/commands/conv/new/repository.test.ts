import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useGitServer } from '../../../client/support/git-server.ts';
import { startGitHost } from '../../../support/server.ts';
import { useWorld, type Ending } from '../../../support/use-world.ts';
import type { Invocation } from '../../../support/world.ts';
import { finish, git, json, jsonLines, makeRepository, run } from '../support.ts';

describe('the repository of a conversation at a remote server', () => {
  const at = useGitServer('v1', 'conv new');
  /** A clone of http://127.0.0.1/acme/app.git, which is served as plain files. */
  let checkout: string;
  beforeAll(async () => {
    const seed = await makeRepository(path.join(at.dir, 'seed'));
    const bare = path.join(at.dir, 'served', 'acme', 'app.git');
    await git(at.dir, 'clone', '-q', '--bare', seed, bare);
    await git(bare, 'update-server-info');
    const host = await startGitHost(path.join(at.dir, 'served'));
    checkout = path.join(at.dir, 'checkout');
    await git(
      at.dir,
      'clone',
      '-q',
      `${host.url.replace('//', '//user:token@')}/acme/app.git`,
      checkout,
    );
    return () => host.close();
  });
  const connect = (...names: string[]) =>
    (at.data.tokens = Object.fromEntries(names.map((name) => [name, { token: 'a', host: null }])));
  beforeEach(() => void connect('github', 'gitlab'));

  /** Starts it with these flags in this folder; the repository in the request. */
  async function chosen(cwd: string, flags = '', ending: Ending & Partial<Invocation> = {}) {
    const { out, err } = await at.ends(`hi --dry-run --json ${flags}`, {
      cwd,
      hides: 'token@',
      ...ending,
    });
    if ((ending.code ?? 0) !== 0) return { place: null, err };
    const { requests } = JSON.parse(out) as { requests: { body: Record<string, string> }[] };
    const { selected_repository, selected_branch, git_provider } = requests.at(-1)?.body ?? {};
    return { place: [selected_repository, selected_branch, git_provider], err };
  }
  const none = [undefined, undefined, undefined];
  const app = ['acme/app', 'main', 'forgejo'];
  const FORGEJO = '--git-provider forgejo';

  it('is owner/name of the remote of the checkout, with the current branch', async () => {
    expect(
      (await chosen(checkout, FORGEJO, { err: 'repository acme/app, branch main' })).place,
    ).toEqual(app);
  });

  it('exits 2 without --git-provider when the host is unknown', async () => {
    await chosen(checkout, '', { code: 2, err: 'github, gitlab' });
    connect();
    await chosen(checkout, '', { code: 2 });
  });

  it('is at the only provider that the server is connected to', async () => {
    connect('forgejo');
    expect((await chosen(checkout)).place).toEqual(app);
    expect((await chosen(at.dir, '--repo acme/other')).place).toEqual([
      'acme/other',
      undefined,
      'forgejo',
    ]);
  });

  it('exits 5 when the branch is not on the remote', async () => {
    await git(checkout, 'switch', '-q', '-c', 'only-here');
    await chosen(checkout, FORGEJO, { code: 5, err: 'only-here' });
    await git(checkout, 'switch', '-q', 'main');
  });

  it('is started from pushed commits, with a warning about the others', async () => {
    await writeFile(path.join(checkout, 'new.txt'), 'x');
    await git(checkout, 'add', '.');
    await git(checkout, 'commit', '-q', '-m', 'second');
    await writeFile(path.join(checkout, 'new.txt'), 'y');
    await chosen(checkout, FORGEJO, { err: 'uncommitted changes and 1 unpushed commit' });
    await writeFile(
      path.join(checkout, '.gitmodules'),
      '[submodule "a"]\n\tpath = lib/a\n\turl = ../a\n',
    );
    await chosen(checkout, FORGEJO, {
      err: ' and submodules (lib/a): the conversation starts without them',
    });
  });

  it('can be named: the current branch is used only for the repository of the checkout', async () => {
    expect((await chosen(checkout, `--repo acme/app ${FORGEJO}`)).place).toEqual(app);
    const other = ['acme/other', undefined, 'forgejo'];
    expect((await chosen(checkout, `--repo acme/other ${FORGEJO}`)).place).toEqual(other);
    await chosen(checkout, '--repo acme/other', { code: 2 });
  });

  it.each([
    'https://me:secret@github.com/acme/app.git',
    'git@github.com:acme/app.git',
    'ssh://git@github.com/acme/app',
  ])('can be a URL in any form of git, and its credentials are not sent: %s', async (repo) => {
    const { place } = await chosen(at.dir, `--repo ${repo}`, { hides: 'secret' });
    expect(place).toEqual(['acme/app', undefined, 'github']);
  });

  it('is none with --no-repo, and outside of a checkout', async () => {
    expect((await chosen(checkout, '--no-repo')).place).toEqual(none);
    expect((await chosen(at.dir, '', { err: 'no git checkout here' })).place).toEqual(none);
  });

  it('exits 3 when git is not installed, unless --repo or --no-repo is given', async () => {
    connect('github');
    const env = { PATH: '/nowhere' };
    for (const flags of ['', '--repo .'])
      await chosen(checkout, flags, { env, code: 3, err: ['git is not installed', '--no-repo'] });
    const named = await chosen(checkout, '--repo acme/app --branch main', { env });
    expect(named.place).toEqual(['acme/app', 'main', 'github']);
    expect((await chosen(checkout, '--no-repo', { env })).place).toEqual(none);
  });

  it('exits 12 with --no-dependencies: this server copies none', async () => {
    const err = 'this server copies no dependencies';
    await chosen(checkout, '--no-dependencies', { code: 12, err });
  });

  it('exits 2 for a checkout without a remote that is named', async () => {
    const local = await makeRepository(path.join(at.dir, 'local'));
    await chosen(at.dir, `--repo ${local}`, { code: 2 });
    expect((await chosen(local)).place).toEqual(none);
  });
});

describe('the repository of a conversation at the local service', () => {
  const at = useWorld({ spec: 'process', noun: 'conv new' });
  let repository: string;
  beforeAll(async () => {
    repository = await makeRepository(path.join(at.dir, 'repository'));
    await mkdir(path.join(repository, 'deep'));
  });
  /** The repository and the branch in the request. */
  async function chosen(cwd: string, flags = '', ending: Ending = {}) {
    const ended = await at.ends(`--replay demo --dry-run --json ${flags}`, { cwd, ...ending });
    if ((ending.code ?? 0) !== 0) return null;
    const { requests } = json<{ requests: { body: Record<string, string> }[] }>(ended);
    return [requests[0]?.body['selected_repository'], requests[0]?.body['selected_branch']];
  }

  it('is the checkout of the working directory, and a notice names it', async () => {
    const err = `repository ${repository}, branch main`;
    expect(await chosen(path.join(repository, 'deep'), '', { err })).toEqual([repository, 'main']);
  });

  it('is not set outside of a checkout, which a notice states', async () => {
    expect(await chosen(at.dir, '', { err: 'no git checkout here' })).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('is read from a path', async () => {
    expect(await chosen(at.dir, '--repo ./repository')).toEqual([repository, 'main']);
  });

  it('without the named branch exits 5', async () => {
    await chosen(repository, '-b nope', { code: 5, writes: [] });
  });

  it('needs --branch when HEAD is detached', async () => {
    const detached = await makeRepository(path.join(at.dir, 'detached'));
    await git(detached, 'checkout', '-q', '--detach');
    await chosen(detached, '', { code: 2 });
    expect(await chosen(detached, '-b main')).toEqual([detached, 'main']);
  });

  it('is started from its commits, with a warning about uncommitted files', async () => {
    const dirty = await makeRepository(path.join(at.dir, 'dirty'));
    await writeFile(path.join(dirty, 'README.md'), 'changed\n');
    await chosen(dirty, '', { err: 'uncommitted changes' });
  });

  it('is taken without its dependencies with --no-dependencies, which a V0 start cannot state', async () => {
    const flags = '--replay demo --dry-run --json --no-dependencies';
    const { requests } = json<{ requests: { body: object }[] }>(
      await at.ends(flags, { cwd: repository }),
    );
    expect(requests[0]?.body).toMatchObject({ workspace_dependencies: false });
    const err = 'cannot be started with --no-dependencies';
    await at.ends(`${flags} --api v0`, { cwd: repository, code: 12, err });
    await at.ends(`${flags} --no-repo`, { code: 2, err: 'cannot be combined' });
  });

  it('is in the workspace: events, diff and files agree', async () => {
    await at.file('edit.json', [
      run('cat README.md'),
      { action: 'write', args: { path: 'NEW.md', content: 'new words\n' } },
      run('cat NEW.md'),
      finish('written'),
    ]);
    const started = await at.ends(`--replay ${at.dir}/edit.json --wait --json`, {
      cwd: repository,
    });
    const { id } = json(started);
    expect(jsonLines<{ notice: string }>(started.err)[0]?.notice).toContain(
      `repository ${repository}`,
    );
    const { items } = json<{ items: { text: string }[] }>(
      await at.world.acs('conv', 'events', id, '--kind', 'ObservationEvent', '--json'),
    );
    expect(items.map(({ text }) => text)).toEqual(expect.arrayContaining(['hello', 'new words']));
    const diff = await at.world.acs('conv', 'diff', id);
    expect(diff.out).toContain('+new words');
    expect(diff.out).not.toContain('README');
    expect((await at.world.acs('conv', 'result', id)).out).toBe('written');
    expect(await git(repository, 'status', '--short')).toBe('');
  });
});
