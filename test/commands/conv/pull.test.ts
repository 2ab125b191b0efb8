import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { startGitHost } from '../../support/git-host.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, errorOf, finish, git, json, makeRepository, replayFile, run } from './support.ts';

const at = useConvWorld({ spec: 'process' });

interface PulledJson {
  into: string;
  path: string;
  branch: string | null;
  commit: string | null;
  base: string | null;
  files: string[];
  added: number;
  removed: number;
  conflicts: string[];
  changed: boolean;
}

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
};

let count = 0;
let checkout: string;
let id: string;
beforeEach(async () => {
  checkout = await makeRepository(path.join(at.world.dir, `checkout-${(count += 1)}`));
  const steps = [run('echo more >> README.md; echo new > new.txt'), finish('Extended the **README**.\n\nAnd a file.')];
  const file = await replayFile(at.world, 'pull.json', steps);
  id = await endedRun(at.world, '--repo', checkout, '--replay', file);
});

const pull = (...args: string[]) =>
  at.world.invoke({ args: ['conv', 'pull', id, ...args], cwd: checkout, env: AUTHOR });

describe('conv pull', () => {
  it('applies the changes to the checkout and prints what it did', async () => {
    const base = await git(checkout, 'rev-parse', 'HEAD');

    const ended = await pull('--json');

    expect(json<PulledJson>(ended)).toEqual({
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
      changed: true,
    });
    expect(await git(checkout, 'status', '--short')).toBe('M README.md\n?? new.txt');
  });

  it('exits 6 for files with changes of the user, and changes nothing', async () => {
    writeFileSync(path.join(checkout, 'README.md'), 'mine\n');

    const refused = await pull('--json');

    expect(refused.code).toBe(6);
    expect(errorOf(refused)).toMatchObject({ code: 'conflict', paths: ['README.md'] });
    expect(await git(checkout, 'status', '--short')).toBe('M README.md');
    expect(readFileSync(path.join(checkout, 'README.md'), 'utf8')).toBe('mine\n');
  });

  it('--branch commits them with the answer of the agent as the message', async () => {
    const ended = json<PulledJson>(await pull('--branch', 'agent/readme', '--json'));

    expect(ended).toMatchObject({ into: 'branch', branch: 'agent/readme', changed: true });
    expect(await git(checkout, 'log', '-1', '--format=%B', 'agent/readme')).toBe(
      'Extended the **README**.\n\nAnd a file.',
    );
    expect(await git(checkout, 'status', '--short')).toBe('');
    expect((await pull('--branch', 'agent/readme')).code).toBe(6);
    expect((await pull('--branch', 'a..b')).code).toBe(2);
  });

  it('-o writes the added and changed files into a new folder, also outside of a checkout', async () => {
    const cwd = path.join(at.world.dir, `elsewhere-${count}`);
    mkdirSync(cwd);

    const ended = await at.world.invoke({ args: ['conv', 'pull', id, '-o', 'result'], cwd });

    expect(ended.code).toBe(0);
    expect(ended.out).toContain(path.join(cwd, 'result'));
    expect(readFileSync(path.join(cwd, 'result', 'README.md'), 'utf8')).toBe('hello\nmore\n');
    expect(readdirSync(path.join(cwd, 'result')).sort()).toEqual(['README.md', 'new.txt']);
    expect((await at.world.invoke({ args: ['conv', 'pull', id, '-o', 'result'], cwd })).code).toBe(6);
    expect((await at.world.invoke({ args: ['conv', 'pull', id], cwd })).code).toBe(2);
    for (const flags of [['--branch', 'x'], ['--3way']])
      expect((await at.world.invoke({ args: ['conv', 'pull', id, '-o', 'other', ...flags], cwd })).code).toBe(2);
  });

  it('exits 6 with conflicts marked in the files after --3way', async () => {
    writeFileSync(path.join(checkout, 'README.md'), 'hello\nother\n');
    await git(checkout, 'commit', '-qam', 'other');
    const refused = await pull();
    expect({ code: refused.code, err: refused.err }).toMatchObject({
      code: 6,
      err: expect.stringContaining('--3way') as string,
    });

    const merged = await pull('--3way', '--json');

    expect(merged.code).toBe(6);
    expect(json<PulledJson>(merged)).toMatchObject({ conflicts: ['README.md'], changed: true });
    expect(errorOf(merged)).toMatchObject({ conflicts: ['README.md'] });
    expect(readFileSync(path.join(checkout, 'README.md'), 'utf8')).toContain('<<<<<<<');
  });

  it('warns when the conversation is on another repository than origin of the checkout', async () => {
    const served = path.join(at.world.dir, `served-${count}`);
    const bare = path.join(served, 'acme', 'app.git');
    await git(checkout, 'clone', '-q', '--bare', checkout, bare);
    await git(bare, 'update-server-info');
    const host = await startGitHost(served);
    const file = await replayFile(at.world, 'other-origin.json', [run('echo new > new.txt'), finish('done')]);
    id = await endedRun(at.world, '--repo', `${host.url}/acme/app.git`, '--branch', 'main', '--replay', file);
    await host.close();

    await git(checkout, 'remote', 'add', 'origin', 'https://github.com/Acme/App.git');
    expect((await pull('--dry-run')).err).not.toContain('warning');
    await git(checkout, 'remote', 'set-url', 'origin', 'https://github.com/acme/web.git');
    const { code, err } = await pull();

    expect(code).toBe(0);
    expect(err).toContain(
      'warning: the conversation is on the repository acme/app; origin of this checkout is acme/web',
    );
    expect(await git(checkout, 'status', '--short')).toBe('?? new.txt');
  });

  it('warns when the conversation has no repository', async () => {
    const file = await replayFile(at.world, 'no-repository.json', [run('echo new > new.txt'), finish('done')]);
    id = await endedRun(at.world, '--no-repo', '--replay', file);
    const { code, err } = await pull();

    expect(code).toBe(0);
    expect(err).toContain('warning: the conversation has no repository; its files go into this checkout');
  });

  it('writes nothing in a dry run', async () => {
    const { code, err } = await pull('--dry-run');

    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('nothing was written') as string });
    expect(await git(checkout, 'status', '--short')).toBe('');
  });

  it('exits 0 with a notice when nothing changed', async () => {
    const file = await replayFile(at.world, 'idle-pull.json', [run('true'), finish('nothing')]);
    id = await endedRun(at.world, '--repo', checkout, '--replay', file);

    const { code, err } = await pull();

    expect(code).toBe(0);
    expect(err).toContain('nothing changed');
  });

  it('exits 6 for a paused sandbox without --resume', async () => {
    await at.world.acs('sandbox', 'pause', (await at.show(id)).sandbox_id ?? '');

    const refused = await pull();

    expect(refused.code).toBe(6);
    expect(refused.err).toContain('--resume');
    expect((await pull('--resume')).code).toBe(0);
    expect(await git(checkout, 'status', '--short')).toBe('M README.md\n?? new.txt');
  });
});
