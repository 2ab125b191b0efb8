import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGitHost } from '../../support/server.ts';
import { useWorld } from '../../support/use-world.ts';
import {
  endedRun,
  errorOf,
  finish,
  git,
  json,
  makeRepository,
  makeUnrelated,
  putToSleep,
  replayFile,
  run,
} from './support.ts';

const at = useWorld({ spec: 'process' });

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};

/** The repository and the run that the tests share, and a checkout for each. */
let seed: string;
let shared: string;
let count = 0;
let checkout: string;
let id: string;
beforeAll(async () => {
  seed = await makeRepository(path.join(at.dir, 'seed'));
  const steps = [
    run('echo more >> README.md; echo new > new.txt'),
    finish('Extended the **README**.\n\nAnd a file.'),
  ];
  const file = await replayFile(at, 'pull.json', steps);
  shared = await endedRun(at.world, '--repo', seed, '--replay', file);
});
beforeEach(async () => {
  id = shared;
  checkout = path.join(at.dir, `checkout-${(count += 1)}`);
  await git(seed, 'clone', '-q', seed, checkout);
  await git(checkout, 'remote', 'remove', 'origin');
});

const pull = (line: string, ending: Parameters<typeof at.ends>[1] = {}) =>
  at.ends(`conv pull ${id} ${line}`, { cwd: checkout, env: AUTHOR, ...ending });
const write = (text: string) => writeFileSync(path.join(checkout, 'README.md'), text);
const read = (folder = checkout) => readFileSync(path.join(folder, 'README.md'), 'utf8');
const changes = () => git(checkout, 'status', '--short');

/** Starts another run than the shared one, with one command, and waits for its end. */
async function ranOn(command: string, ...repository: string[]): Promise<void> {
  const file = await replayFile(at, 'other.json', [run(command), finish('done')]);
  id = await endedRun(at.world, ...repository, '--replay', file);
}

describe('conv pull', () => {
  it('applies the changes to the checkout and prints what it did', async () => {
    const base = await git(checkout, 'rev-parse', 'HEAD');
    expect(json<object>(await pull('--json'))).toEqual({
      conversation_id: id,
      into: 'checkout',
      path: checkout,
      branch: null,
      commit: null,
      base,
      files: ['README.md', 'new.txt'],
      added: 2,
      removed: 0,
      conflicts: [],
      pushed: false,
      changed: true,
    });
    expect(await changes()).toBe('M README.md\n?? new.txt');
  });

  it('prints on a terminal where the changes went, and the files', async () => {
    const files = 'README.md +1 −0\nnew.txt +1 −0\n';
    const pulled = `pulled ${id.slice(0, 8)}`;
    const ending = { columns: 200 };
    const out = await pull('--branch agent --no-color', ending);
    expect(out.out).toBe(`${pulled} onto branch agent\n${files}`);
    await pull('--no-color', { ...ending, out: `${pulled} into ${checkout}\n${files}` });
    await pull('-o new --dry-run --no-color', { ...ending, out: '' });
  });

  it('exits 6 for files with changes of the user, and changes nothing', async () => {
    write('mine\n');
    const refused = await pull('--json', { code: 6 });
    expect(errorOf(refused)).toMatchObject({ code: 'conflict', paths: ['README.md'] });
    expect([await changes(), read()]).toEqual(['M README.md', 'mine\n']);
  });

  it('--branch commits them with the answer of the agent as the message', async () => {
    const branch = 'agent/readme';
    await pull(`--branch ${branch} --json`, { out: { into: 'branch', branch, changed: true } });
    const message = await git(checkout, 'log', '-1', '--format=%B', branch);
    expect([message, await changes()]).toEqual(['Extended the **README**.\n\nAnd a file.', '']);
    await pull(`--branch ${branch}`, { code: 6 });
    await pull('--branch a..b', { code: 2 });
  });

  it('exits 3 without git, whose installation is the only step', async () => {
    const err =
      /is a git checkout, but git is not installed\n {2}install git, or add its folder to PATH\n$/;
    await pull('', { env: { PATH: '/nowhere' }, code: 3, err });
  });

  it('-o writes the added and changed files into a new folder, also outside of a checkout', async () => {
    const cwd = path.join(at.dir, `elsewhere-${count}`);
    const result = path.join(cwd, 'result');
    mkdirSync(cwd);
    expect((await pull('-o result', { cwd })).out).toContain(result);
    expect(read(result)).toBe('hello\nmore\n');
    expect(readdirSync(result).sort()).toEqual(['README.md', 'new.txt']);
    await pull('-o result', { cwd, code: 6 });
    for (const line of ['', '-o other --branch x', '-o other --3way'])
      await pull(line, { cwd, code: 2 });
  });

  it('exits 6 with conflicts marked in the files after --3way', async () => {
    write('hello\nother\n');
    await git(checkout, 'commit', '-qam', 'other');
    await pull('', { code: 6, err: '--3way' });
    const conflicts = ['README.md'];
    const merged = await pull('--3way --json', { code: 6, out: { conflicts, changed: true } });
    expect(errorOf(merged)).toMatchObject({ conflicts });
    expect(read()).toContain('<<<<<<<');
  });

  describe('in a checkout of', () => {
    /** A checkout of its own history, in which the patch would apply. */
    const unrelated = async (): Promise<void> => {
      checkout = await makeUnrelated(path.join(at.dir, `unrelated-${count}`));
    };
    const flags = ['', '--branch other', '--3way', '--dry-run'];

    it('another repository exits 6, names both, and writes nothing', async () => {
      const base = (await git(checkout, 'rev-parse', 'HEAD')).slice(0, 12);
      await unrelated();
      const lacks =
        `the conversation is on the repository ${seed}, at commit ${base}, which this ` +
        'checkout does not have';
      for (const line of flags)
        await pull(line, { code: 6, err: `${lacks}; this checkout is of ${checkout}\n` });
      await git(checkout, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
      await pull('', { code: 6, err: `${lacks}; this checkout is of acme/web\n` });
      expect([await changes(), await git(checkout, 'branch', '--format=%(refname:short)')]).toEqual(
        ['', 'main'],
      );
      await pull('-o out');
    });

    it('the repository works under another name, and before the commit was fetched', async () => {
      await git(checkout, 'remote', 'add', 'origin', 'https://github.com/acme/fork.git');
      await pull('--dry-run');
      await unrelated();
      await git(checkout, 'remote', 'add', 'origin', seed);
      await pull('');
    });

    it('a repository of a server is known by the commit, and by its name before the commit was fetched', async () => {
      const served = path.join(at.dir, `served-${count}`);
      const bare = path.join(served, 'acme', 'app.git');
      await git(checkout, 'clone', '-q', '--bare', checkout, bare);
      await git(bare, 'update-server-info');
      const host = await startGitHost(served);
      await ranOn('echo new > new.txt', '--repo', `${host.url}/acme/app.git`, '--branch', 'main');
      await host.close();

      await git(checkout, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
      await pull('--dry-run');
      await unrelated();
      await pull('', { code: 6, err: 'on the repository acme/app, at commit' });
      await git(checkout, 'remote', 'add', 'origin', 'https://github.com/Acme/App.git');
      await pull('--dry-run');
    });
  });

  describe('--push and the commands that open a pull request:', () => {
    let env: Record<string, string>;
    /** The programs are installed, and origin is on this host; it is pushed to another place. */
    const onHost = async (host: string, to: string): Promise<void> => {
      const folder = path.join(at.dir, 'programs');
      mkdirSync(folder, { recursive: true });
      for (const program of ['gh', 'glab', 'tea']) writeFileSync(path.join(folder, program), '');
      env = { ...AUTHOR, PATH: `${folder}:${process.env.PATH}` };
      await git(checkout, 'remote', 'add', 'origin', `https://${host}/acme/app.git`);
      await git(checkout, 'config', 'remote.origin.pushurl', to);
    };

    it('the branch is pushed, without hooks, and a program that serves the host opens it', async () => {
      const bare = path.join(at.dir, `pushed-${count}.git`);
      await git(at.dir, 'init', '-q', '--bare', bare);
      await onHost('github.com', bare);
      const hook = path.join(checkout, '.git', 'hooks', 'pre-push');
      writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
      const err = 'open a pull request:\n  gh pr create --fill --head agent/a --base main\n';
      const { out } = await pull('--branch agent/a --push --json', { env });
      expect(json<object>({ out })).toMatchObject({ branch: 'agent/a', pushed: true });
      expect(await git(bare, 'branch', '--format=%(refname:short)')).toBe('agent/a');
      await git(checkout, 'branch', '-D', 'agent/a');
      await git(bare, 'branch', '-D', 'agent/a');
      await pull('--branch agent/a --push', { env, err });
      await git(checkout, 'remote', 'set-url', 'origin', 'git@gitlab.acme.com:acme/app.git');
      await pull('--branch agent/b', {
        env,
        err: 'push -u origin agent/b\n  glab mr create --source-branch agent/b --target-branch main\n',
      });
    });

    it('a clean checkout gets a branch and a commit first, a changed one no command', async () => {
      await onHost('codeberg.org', '/nowhere');
      const name = `acs/${id.slice(0, 8)}`;
      await pull('', {
        env,
        err: new RegExp(
          `switch -c ${name}\n  git add -A\n  git commit -m '[^']+'\n  git push -u origin ${name}` +
            `\n  tea pulls create --head ${name} --base main\n$`,
        ),
      });
      await git(checkout, 'checkout', '-q', '.');
      await pull('-o elsewhere', { env, err: '' });
      writeFileSync(path.join(checkout, 'mine'), 'mine');
      await git(checkout, 'clean', '-qf', 'new.txt');
      await pull('', { env, err: '' });
    });

    it('a push that fails exits 1 and keeps the branch; without --branch or origin nothing starts', async () => {
      await pull('--branch x --push', { code: 6, err: 'no remote "origin"' });
      await pull('--push', { code: 2 });
      await onHost('git.acme.com', 'http://user:secret@127.0.0.1:1/x');
      const failed = await pull('--branch x --push --json', { env, code: 1 });
      expect(json<object>(failed)).toMatchObject({ branch: 'x', pushed: false, changed: true });
      expect(errorOf(failed).message).toMatch(/^the branch x was not pushed: fatal: unable to/);
      expect(failed.err).not.toContain('secret');
      expect(await git(checkout, 'rev-parse', 'x^')).toBe(await git(checkout, 'rev-parse', 'HEAD'));
      await pull('--branch y', { env, err: '' });
    });
  });

  it('warns when the conversation has no repository', async () => {
    await ranOn('echo new > new.txt', '--no-repo');
    await pull('', {
      err: 'warning: the conversation has no repository; its files go into this checkout',
    });
  });

  it('writes nothing in a dry run', async () => {
    await pull('--dry-run', { err: 'nothing was written' });
    expect(await changes()).toBe('');
  });

  it('exits 0 with a notice when nothing changed', async () => {
    await ranOn('true', '--repo', checkout);
    await pull('', { err: 'nothing changed' });
    const { err } = await at.ends(`conv diff ${id} --stat --format table`, { out: '' });
    expect(err).toBe('nothing changed in the workspace\n');
  });

  it('exits 6 for a paused sandbox without --resume', async () => {
    await putToSleep(at, id);
    await pull('-o changed', { code: 6, err: '\n  add --resume to start it first\n' });
    await pull('--resume');
    expect(await changes()).toBe('M README.md\n?? new.txt');
  });
});

describe('conv diff of two conversations', () => {
  const diff = (line: string, ending: Parameters<typeof at.ends>[1]) =>
    at.ends(`conv diff ${shared} ${line}`, ending);

  it('prints the changes from the first workspace to the second', async () => {
    await ranOn('echo other >> README.md', '--repo', seed);
    const [one, two] = [shared.slice(0, 8), id.slice(0, 8)];
    await diff(id, {
      out: new RegExp(`^diff --git ${one}/README.md ${two}/README.md\\n`),
      err: '',
    });
    const out = 'README.md\tmodified\t1\t1\nnew.txt\tdeleted\t0\t1\n';
    await diff(`${id} --stat`, { out });
    await diff(`${id} --name-only`, { out: 'README.md\nnew.txt\n' });
    await diff(shared, { out: '', err: 'the workspaces do not differ' });
  });

  it('exits 6 for another start, which it names, and 2 for a third conversation', async () => {
    const base = await git(seed, 'rev-parse', 'HEAD');
    await ranOn('true', '--no-repo');
    const err = `${shared.slice(0, 8)} started from commit ${base}, ${id.slice(0, 8)} from no repo`;
    await diff(id, { code: 6, err });
    await diff(`${shared} ${id}`, { code: 2 });
  });
});
