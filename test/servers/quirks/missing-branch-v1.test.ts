import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';

let trap: LooseTrap;
afterEach(() => trap.close());

describe('a repository that is cloned below the working directory', () => {
  let dir: string;
  let workspace: string;
  const git = (cwd: string, ...args: string[]): void => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
    execFileSync('git', [...identity, ...args], { cwd, stdio: 'pipe' });
  };

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'acs-clone-'));
    const origin = path.join(dir, 'origin');
    workspace = path.join(dir, 'workspace');
    await mkdir(origin);
    await mkdir(workspace);
    git(origin, 'init', '-q');
    await writeFile(path.join(origin, 'README.md'), 'hello\n');
    git(origin, 'add', '.');
    git(origin, 'commit', '-q', '-m', 'first');
    git(origin, 'checkout', '-q', '-b', 'next');
    await writeFile(path.join(origin, 'next.md'), 'next\n');
    git(origin, 'add', '.');
    git(origin, 'commit', '-q', '-m', 'second');
    git(origin, 'checkout', '-q', 'main');
    git(workspace, 'clone', '-q', origin, 'demo');
    trap = await looseTrap({ workspace });
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const begin = (...flags: string[]) =>
    trap.acs('conv', 'new', 'hello', '--repo', 'team/demo', '--git-provider', 'github', '--json', ...flags);

  it('conv new --branch exits 9 with both branches when another one is checked out', async () => {
    const { code, err } = await begin('--branch', 'next');
    expect(code).toBe(9);
    expect(err).toContain('ignored --branch next and started the conversation on main');
  });

  it('conv new --branch exits 0 when it is checked out', async () => {
    git(path.join(workspace, 'demo'), 'checkout', '-q', 'next');
    const { code, err } = await begin('--branch', 'next');
    expect(code, err).toBe(0);
  });

  it('conv new --branch exits 5 when the clone does not have it', async () => {
    expect(await begin('--branch', 'nowhere')).toMatchObject({ code: 5 });
  });
});
